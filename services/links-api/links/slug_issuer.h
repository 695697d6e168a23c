/*
 * One thread at a time per connection. Gives new links their slugs: the wished one, or random ones until one is free:
 * SLUG_RANDOM_TRIES of each length, from SLUG_RANDOM_LENGTH on. Only UNIQUE decides what is free.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_SLUG_ISSUER_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_SLUG_ISSUER_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"
#include "lib/links/link_bulk_store.h"

#define SLUG_ISSUER_LENGTH_MAX 12

/* Where random slugs come from: slug_random, but in tests that force collisions. */
typedef void (*slug_issuer_source)(char out[static SLUG_SIZE], size_t length);

/*
 * Creates the link in the caller's transaction. new_link->slug NULL = a random one. ERR_CONFLICT: the wished slug is
 * taken. ERR_LIMIT: even random slugs of SLUG_ISSUER_LENGTH_MAX characters were all taken. Others as link_store_create.
 */
enum err slug_issuer_create(struct pg_conn *conn, const struct link_store_new *new_link, slug_issuer_source source,
                            struct link *out) MUST_CHECK;

/* One of many links that are made together. */
struct slug_issuer_item {
	struct link_store_new wanted; /* slug NULL = a random one */
	int tries;                    /* random slugs that were taken; starts as 0 */
	char slug[SLUG_SIZE];         /* the last one */
	bool is_twin;                 /* another one of the round has the same */
	bool is_done;                 /* err says how */
	enum err
		err; /* OK: link is there. ERR_CONFLICT: the wished slug is taken. ERR_LIMIT: random ones of all lengths are. */
	struct link *link; /* room for it */
};

/*
 * One round: makes those of the items that can be made now, at most LINK_BULK_STORE_MAX, of distinct wished slugs. Those
 * whose random slug was taken are not done afterwards: they need another round. Errors of link_bulk_store_create.
 */
enum err slug_issuer_create_many(struct pg_conn *conn, struct slug_issuer_item *const *items, size_t count,
                                 slug_issuer_source source) MUST_CHECK;

#endif
