/*
 * One thread at a time per connection. The tags of an account's links, counted when they are read,
 * and their colors: the table tag_colors. Errors of pg_conn_query pass through. ERR_LIMIT: the
 * query exceeds the statement timeout.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_TAGS_TAG_STORE_H
#define WAYMARK_SERVICES_LINKS_API_TAGS_TAG_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/links/link.h"
#include "lib/postgres/pg_conn.h"
#include "services/links-api/links/tag_request.h"

struct tag_count {
	char name[LINK_TAG_SIZE];
	/* "" = none. */
	char color[TAG_COLOR_SIZE];
	/* That are not DELETED. */
	int64_t links;
	/* Visits of these links, of all time. */
	int64_t humans, bots;
};

/* The tags of the most links, at most max, in byte order. tags has room for max. */
enum err tag_store_list(struct pg_conn *conn, int64_t owner_id, size_t max, struct tag_count *tags,
                        size_t *count) MUST_CHECK;

/* An account has at most so many colors. */
#define TAG_STORE_COLORS_MAX 1000

/* color "" = none. */
enum err tag_store_get_color(struct pg_conn *conn, int64_t owner_id, const char *tag,
                             char color[static TAG_COLOR_SIZE]) MUST_CHECK;

/*
 * Sets or, if color is "", deletes the color of a tag. ERR_CONFLICT also: the account has
 * TAG_STORE_COLORS_MAX colors. Lock the account before.
 */
enum err tag_store_set_color(struct pg_conn *conn, int64_t owner_id, const char *tag,
                             const char *color) MUST_CHECK;

/* Gives the color of one tag to another that has none, and deletes it from the first. */
enum err tag_store_move_color(struct pg_conn *conn, int64_t owner_id, const char *from,
                              const char *to) MUST_CHECK;

#endif
