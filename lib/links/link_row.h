/*
 * Conversion between struct link and rows of the table links, shared by the stores of that table.
 * Only these stores include it.
 *
 * One thread at a time per connection.
 */
#ifndef WAYMARK_LIB_LINKS_LINK_ROW_H
#define WAYMARK_LIB_LINKS_LINK_ROW_H

#include "lib/links/link.h"
#include "lib/links/link_event.h"
#include "lib/postgres/pg_conn.h"

/* U+001F separates tags in query parameters and results. A tag has no control characters. */
#define LINK_ROW_TAGS_FROM_TEXT(parameter) "string_to_array(" parameter ", E'\\x1f')"
#define LINK_ROW_TAGS_SIZE (LINK_TAGS_MAX * LINK_TAG_SIZE)

/* True for the link that a slug names, which may have been typed in another case. */
#define LINK_ROW_ANSWERS_TO(slug_)                                                                 \
	"slug_key IN (lower(" slug_ "::text COLLATE \"C\"), '=' || " slug_ ") AND (slug = " slug_  \
	" OR (slug_chosen AND NOT slug_exact))"

/*
 * The version of a link. links.version alone could repeat a version that was lost in a failover
 * (docs/decisions/0053-database-epoch.md).
 */
#define LINK_ROW_VERSION "version + (SELECT link_version_base FROM database_epoch)"

/*
 * The columns that link_row_read_entry expects, in this order. link_row_read expects the further
 * ones after them.
 */
#define LINK_ROW_ENTRY_COLUMNS                                                                     \
	"id, slug, " LINK_ROW_VERSION                                                              \
	", state, redirect_status, original_url, expires_at, expired_url, starts_at, "             \
	"slug_chosen, slug_exact, extras, blocked_reason"
#define LINK_ROW_ENTRY_COLUMN_COUNT 13
#define LINK_ROW_COLUMNS                                                                              \
	LINK_ROW_ENTRY_COLUMNS                                                                        \
	", link_type, workspace_id, title, array_to_string(tags, E'\\x1f'), created_at, updated_at, " \
	"state_before_deletion, CASE WHEN state = 'DELETED' THEN state_since END, created_by, "       \
	"external_id, alias_count, features"
#define LINK_ROW_COLUMN_COUNT 25

/* Under its own slug. ERR_INTERNAL: the row violates its constraints. */
enum err link_row_read_entry(const struct pg_result *rows, size_t row,
                             struct link_entry *out) MUST_CHECK;
enum err link_row_read(const struct pg_result *rows, size_t row, struct link *out) MUST_CHECK;

/* Runs a statement that returns LINK_ROW_COLUMNS of at most one link. ERR_NOT_FOUND: none. */
enum err link_row_query(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                        struct link *out) MUST_CHECK;

/* The text for LINK_ROW_TAGS_FROM_TEXT. ERR_INVALID: an empty tag, or a tag with U+001F. */
enum err link_row_join_tags(const struct link_tags *tags,
                            char out[static LINK_ROW_TAGS_SIZE]) MUST_CHECK;

/* Builds the LinkEvent of a change that resulted in link. */
void link_row_to_event(const struct link *link, enum link_change change, struct link_event *out);
/* Builds it and adds it to the outbox. */
enum err link_row_add_event(struct pg_conn *conn, const struct link *link,
                            enum link_change change) MUST_CHECK;

#endif
