/*
 * The table link_notes: private notes of the owners of links. They are not part of struct link, so
 * that no event and no cache can have them. Errors of pg_conn_query pass through.
 *
 * One thread at a time per connection.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_NOTES_STORE_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_NOTES_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/postgres/pg_conn.h"

#define LINK_NOTES_CHARS_MAX 2000

/* notes "" removes them. *is_changed: they were different before. */
enum err link_notes_store_set(struct pg_conn *conn, int64_t link_id, const char *notes,
                              bool *is_changed) MUST_CHECK;

/* Adds the notes of new links. Skips those that are "". */
enum err link_notes_store_add_bulk(struct pg_conn *conn, const int64_t *ids,
                                   const char *const *notes, size_t count) MUST_CHECK;

#endif
