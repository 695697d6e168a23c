/*
 * One thread at a time per connection. What becomes of the links of an owner who is gone: they are DELETED, in steps, by
 * a walk along all of his links in the order of their creation, so that a step costs the same however many there are
 * and however many are DELETED already. Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_LIB_LINKS_LINK_CLOSING_STORE_H
#define WAYMARK_LIB_LINKS_LINK_CLOSING_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/links/slug.h"
#include "lib/net/pg_conn.h"

#define LINK_CLOSING_STORE_STEP 500

/* Starts as { .owner_id = … }. */
struct link_closing_walk {
	int64_t owner_id;
	int64_t created_at_us, id; /* behind this link the next step begins */
	bool is_over;
};

/* What one step has changed. */
struct link_closing_step {
	size_t count;
	int64_t ids[LINK_CLOSING_STORE_STEP];
	char last_slug[SLUG_SIZE]; /* of the last event in the outbox; "" if none was changed */
};

/*
 * Inside a transaction: deletes as DELETE does what is not DELETED among the next LINK_CLOSING_STORE_STEP links, with
 * its events. walk moves on, for the caller to forget if he cannot commit.
 */
enum err link_closing_store_step(struct pg_conn *conn, struct link_closing_walk *walk,
                                 struct link_closing_step *step) MUST_CHECK;

#endif
