/*
 * One thread at a time per connection. How a struct link and a row of the table links become each other; what the files
 * of link_store share. Nobody else includes it.
 */
#ifndef WAYMARK_LIB_LINKS_LINK_ROW_H
#define WAYMARK_LIB_LINKS_LINK_ROW_H

#include "lib/links/link.h"
#include "lib/links/link_event.h"
#include "lib/net/pg_conn.h"

/* U+001F stands between tags on the wire, in both directions; a tag holds no control characters. */
#define LINK_ROW_TAGS_FROM_TEXT(parameter) "string_to_array(" parameter ", E'\\x1f')"
#define LINK_ROW_TAGS_SIZE (LINK_TAGS_MAX * LINK_TAG_SIZE)

/* What link_row_read_entry wants, in its order; the rest of link_row_read comes behind it. */
#define LINK_ROW_ENTRY_COLUMNS "id, slug, version, state, redirect_status, original_url, expires_at, expired_url"
#define LINK_ROW_COLUMNS                                                                                               \
	LINK_ROW_ENTRY_COLUMNS                                                                                         \
	", link_type, owner_id, title, array_to_string(tags, E'\\x1f'), created_at, updated_at, "                      \
	"state_before_deletion"
#define LINK_ROW_COLUMN_COUNT 15

/* ERR_INTERNAL: the row holds what its constraints rule out. */
enum err link_row_read_entry(const struct pg_result *rows, size_t row, struct link_entry *out) MUST_CHECK;
enum err link_row_read(const struct pg_result *rows, size_t row, struct link *out) MUST_CHECK;

/* Runs a statement that gives LINK_ROW_COLUMNS of one link or none (ERR_NOT_FOUND). */
enum err link_row_query(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                        struct link *out) MUST_CHECK;

/* The text for LINK_ROW_TAGS_FROM_TEXT. ERR_INVALID: an empty tag, or one with U+001F. */
enum err link_row_join_tags(const struct link_tags *tags, char out[static LINK_ROW_TAGS_SIZE]) MUST_CHECK;

/* The LinkEvent of what link has become. */
void link_row_describe(const struct link *link, enum link_change change, struct link_event *out);
/* Adds it to the outbox. */
enum err link_row_record(struct pg_conn *conn, const struct link *link, enum link_change change) MUST_CHECK;

#endif
