/*
 * One thread at a time per connection. The tags of an account's links, counted when they are read.
 * Errors of pg_conn_query pass through. ERR_LIMIT: the query exceeds the statement timeout.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_TAGS_TAG_STORE_H
#define WAYMARK_SERVICES_LINKS_API_TAGS_TAG_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/links/link.h"
#include "lib/postgres/pg_conn.h"

struct tag_count {
	char name[LINK_TAG_SIZE];
	int64_t links;        /* that are not DELETED */
	int64_t humans, bots; /* visits of these links, of all time */
};

/* The tags of the most links, at most max, in byte order. tags has room for max. */
enum err tag_store_list(struct pg_conn *conn, int64_t owner_id, size_t max, struct tag_count *tags,
                        size_t *count) MUST_CHECK;

#endif
