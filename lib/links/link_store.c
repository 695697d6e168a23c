#include "lib/links/link_store.h"

#include <stdio.h>
#include <string.h>

#include "lib/links/link_aliases.h"
#include "lib/links/link_row.h"
#include "lib/links/outbox.h"

/* Whether a name in the table may answer to the slug of the key $1 under the other kind of key. */
#define OTHER_KIND(table)                                                                          \
	"EXISTS (SELECT FROM " table " AS other WHERE slug_exact AND lower(slug) = $1::text) OR "  \
	"EXISTS (SELECT FROM " table                                                               \
	" AS other WHERE $1 LIKE '=%' AND slug_key = lower(substr($1, 2) COLLATE \"C\"))"

/* Nearly always enough. Each node of a statement costs its start, also one that does not run. */
static const char find_link_sql[] =
	"SELECT " LINK_ROW_ENTRY_COLUMNS " FROM links WHERE slug_key = $1";

/*
 * Among links again, because one may have got its earlier slug back since. PostgreSQL looks among the
 * aliases only if no link has the key, and for the other kind of key only if no alias has it.
 */
static const char find_name_sql[] =
	"SELECT found.*, CASE WHEN id IS NULL THEN " OTHER_KIND("links") " OR " OTHER_KIND(
		"link_aliases") " END "
				"FROM (SELECT) AS one LEFT JOIN ("
				"SELECT " LINK_ROW_ENTRY_COLUMNS
				", NULL AS alias, NULL::boolean AS alias_chosen, NULL::boolean AS alias_exact "
				"FROM links WHERE slug_key = $1 "
				"UNION ALL "
				"SELECT " LINK_ROW_ENTRY_COLUMNS
				", alias, alias_chosen, alias_exact FROM (SELECT link_id, slug AS alias, "
				"slug_chosen AS alias_chosen, slug_exact AS alias_exact "
				"FROM link_aliases WHERE slug_key = $1) AS named JOIN links ON id = link_id "
				"LIMIT 1) AS found ON true";
enum { ALIAS = LINK_ROW_ENTRY_COLUMN_COUNT, ALIAS_CHOSEN, ALIAS_EXACT, HAS_OTHER_KIND };

/* The name by which it was found is an alias. */
static void become_alias(const struct pg_result *rows, struct link_entry *entry)
{
	memcpy(entry->alias_of, entry->slug, SLUG_SIZE);
	snprintf(entry->slug, SLUG_SIZE, "%s", pg_result_text(rows, 0, ALIAS));
	entry->is_slug_chosen = pg_result_bool(rows, 0, ALIAS_CHOSEN);
	entry->is_slug_exact = pg_result_bool(rows, 0, ALIAS_EXACT);
}

enum err link_store_find_entry(struct pg_conn *conn, const char *key, struct link_entry *out)
{
	struct pg_params params = { 0 };
	pg_params_text(&params, key);
	struct pg_result *rows = NULL;
	struct link_entry entry;
	enum err err = pg_conn_query(conn, find_link_sql, &params, &rows);
	if (err == OK && pg_result_count(rows) == 0) {
		pg_result_free(rows);
		rows = NULL;
		err = pg_conn_query(conn, find_name_sql, &params, &rows);
	}
	if (err == OK && pg_result_is_null(rows, 0, 0))
		err = pg_result_bool(rows, 0, HAS_OTHER_KIND) ? ERR_CONFLICT : ERR_NOT_FOUND;
	if (err == OK)
		err = link_row_read_entry(rows, 0, &entry);
	if (err == OK && !pg_result_is_null(rows, 0, ALIAS))
		become_alias(rows, &entry);
	if (err == OK)
		memcpy(out, &entry, link_entry_size(&entry));
	pg_result_free(rows);
	return err;
}

/* $2 = -1 is LINK_STORE_ANY_WORKSPACE. */
#define SELECT_OF_WORKSPACE                                                                        \
	"SELECT " LINK_ROW_COLUMNS                                                                 \
	" FROM links WHERE id = $1 AND (workspace_id = $2 OR $2::bigint = -1)"

enum err link_store_get(struct pg_conn *conn, int64_t id, int64_t workspace_id, struct link *out)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	pg_params_int(&params, workspace_id);
	return link_row_query(conn, SELECT_OF_WORKSPACE, &params, out);
}

enum err link_store_lock(struct pg_conn *conn, int64_t id, int64_t workspace_id, struct link *out)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	pg_params_int(&params, workspace_id);
	return link_row_query(conn, SELECT_OF_WORKSPACE " FOR UPDATE", &params, out);
}

/* --- claims --- */

enum err link_store_lock_by_claim_token(struct pg_conn *conn, const char *slug,
                                        const uint8_t claim_token_hash[static DIGEST_SIZE],
                                        struct link *out)
{
	struct pg_params params = { 0 };
	pg_params_text(&params, slug);
	pg_params_bytes(&params, claim_token_hash, DIGEST_SIZE);
	return link_row_query(conn,
	                      "SELECT " LINK_ROW_COLUMNS " FROM links WHERE " LINK_ROW_ANSWERS_TO(
				      "$1") " AND claim_token_hash = $2 FOR UPDATE",
	                      &params, out);
}

enum err link_store_claim(struct pg_conn *conn, struct link *link, int64_t workspace_id)
{
	struct link claimed;
	struct pg_params params = { 0 };
	pg_params_int(&params, link->entry.id);
	pg_params_int(&params, link->entry.version);
	pg_params_int(&params, workspace_id);
	enum err err = link_row_query(
		conn,
		"UPDATE links SET version = version + 1, link_type = 'PERMANENT', workspace_id = $3, "
		"created_by = NULLIF(current_setting('waymark.actor_id', true), '')::bigint, "
		"expires_at = NULL, updated_at = clock_timestamp() "
		"WHERE id = $1 AND " LINK_ROW_VERSION " = $2 AND workspace_id IS NULL "
		"RETURNING " LINK_ROW_COLUMNS,
		&params, &claimed);
	if (err == ERR_NOT_FOUND)
		return ERR_CONFLICT;
	if (err == OK)
		err = link_row_add_event(conn, &claimed, LINK_CHANGE_CLAIMED);
	if (err == OK)
		link_copy(link, &claimed);
	return err;
}

/* --- for the janitor --- */

/* The janitor's statements return this column after LINK_ROW_COLUMNS. */
#define ORDER_COLUMN LINK_ROW_COLUMN_COUNT

/* Adds an event for each row, a link after its change. The next batch begins at the last row. */
static enum err add_events(const struct pg_result *rows, enum link_change change,
                           struct outbox_bulk *events, int64_t *from_us)
{
	struct link_event event;
	int64_t last_us = *from_us;
	for (size_t i = 0; i < pg_result_count(rows); i++) {
		enum err err = link_row_read(rows, i, &event.link);
		if (err != OK)
			return err;
		int64_t at_us = pg_result_time(rows, i, ORDER_COLUMN);
		last_us = at_us > last_us ? at_us : last_us;
		link_row_to_event(&event.link, change, &event);
		outbox_bulk_add(events, &event);
	}
	*from_us = last_us;
	return OK;
}

/*
 * Runs one statement that changes links and returns them, and adds their events. A purge ends their
 * aliases; purged: the state of its links before.
 */
static enum err change_batch(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                             enum link_change change, enum link_state purged,
                             struct link_store_batch *batch)
{
	struct pg_result *rows = NULL;
	struct outbox_bulk events;
	int64_t from_us = batch->from_us;
	enum outbox_priority priority =
		change == LINK_CHANGE_PURGED ? OUTBOX_PURGE : OUTBOX_BACKGROUND;
	outbox_bulk_init(&events, priority, (size_t)batch->limit);
	enum err err = pg_conn_query(conn, sql, params, &rows);
	if (err == OK)
		err = add_events(rows, change, &events, &from_us);
	if (err == OK)
		err = outbox_bulk_insert(&events, conn);
	if (err == OK && change == LINK_CHANGE_PURGED)
		err = link_aliases_purge(conn, &events.aliases, purged);
	if (err == OK) {
		batch->changed = (int64_t)pg_result_count(rows);
		batch->from_us = from_us;
	}
	outbox_bulk_clear(&events);
	pg_result_free(rows);
	return err;
}

/*
 * All statements use statement_timestamp(), because clock_timestamp() is volatile and prevents the
 * use of an index. Each one walks its index from the end of the previous batch. Before that
 * position there are only dead entries of changed rows, until the next vacuum, and each batch would
 * scan all of them.
 */

enum err link_store_expire_batch(struct pg_conn *conn, struct link_store_batch *batch)
{
	struct pg_params params = { 0 };
	pg_params_time(&params, batch->from_us);
	pg_params_int(&params, batch->limit);
	return change_batch(
		conn,
		"WITH due AS (SELECT id FROM links WHERE state = 'ACTIVE' AND expires_at >= $1 "
		"AND expires_at <= statement_timestamp() ORDER BY expires_at LIMIT $2 "
		"FOR UPDATE SKIP LOCKED) "
		"UPDATE links SET state = 'EXPIRED', version = version + 1, "
		"state_since = clock_timestamp(), updated_at = clock_timestamp() "
		"WHERE id = ANY (ARRAY(SELECT id FROM due)) RETURNING " LINK_ROW_COLUMNS
		", expires_at",
		&params, LINK_CHANGE_EXPIRED, LINK_STATE_ACTIVE, batch);
}

/* Deletes the links whose IDs are in "due", and inserts their tombstones. */
#define DELETE_DUE                                                                                                                      \
	"deleted AS (DELETE FROM links WHERE id = ANY (ARRAY(SELECT id FROM due)) RETURNING *), "                                       \
	"tombstones AS (INSERT INTO link_tombstones (slug, slug_exact, link_id, last_state, version) "                                  \
	"SELECT slug, slug_exact, id, state, " LINK_ROW_VERSION " + 1 FROM deleted), "                                                  \
	"last_version AS (SELECT id, slug, version + 1 AS version, 'DELETED' AS state, redirect_status, "                               \
	"original_url, expires_at, expired_url, starts_at, slug_chosen, slug_exact, link_type, workspace_id, title, tags, created_at, " \
	"clock_timestamp() AS updated_at, NULL AS state_before_deletion, state_since, created_by, NULL::bytea AS extras, "              \
	"blocked_reason, external_id, alias_count, 0 AS features FROM deleted) "

enum err link_store_set_keep(struct pg_conn *conn, const struct link_store_keep *keep,
                             int64_t *changed)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, keep->temporary_s);
	pg_params_int(&params, keep->expired_s);
	pg_params_int(&params, keep->deleted_s);
	return pg_conn_query_int(
		conn,
		"WITH stored AS (INSERT INTO link_keeping AS k (temporary_s, expired_s, deleted_s) "
		"VALUES ($1, $2, $3) ON CONFLICT (only_row) DO UPDATE SET (temporary_s, expired_s, deleted_s) = "
		"(excluded.temporary_s, excluded.expired_s, excluded.deleted_s) "
		"WHERE (k.temporary_s, k.expired_s, k.deleted_s) <> "
		"(excluded.temporary_s, excluded.expired_s, excluded.deleted_s) RETURNING 1) "
		"SELECT count(*) FROM stored",
		&params, changed);
}

/*
 * The condition is a literal because the indexes are partial. Links of a workspace whose deletion can still
 * be undone stay.
 */
#define PURGE(which)                                                                                  \
	"WITH due AS (SELECT id FROM links WHERE " which " AND state_since >= $1 "                    \
	"AND state_since <= statement_timestamp() - $3::bigint * interval '1 second' "                \
	"AND coalesce(workspace_id, 0) NOT IN (SELECT id FROM workspaces WHERE closing IS NOT NULL) " \
	"ORDER BY state_since LIMIT $2 FOR UPDATE SKIP LOCKED), " DELETE_DUE                          \
	"SELECT " LINK_ROW_COLUMNS ", state_since FROM last_version"

enum err link_store_purge_batch(struct pg_conn *conn, enum link_store_ended ended,
                                const struct link_store_keep *keep, struct link_store_batch *batch)
{
	const struct {
		const char *sql;
		int64_t keep_s;
		enum link_state state;
	} purges[] = {
		[LINK_STORE_ENDED_TEMPORARY] = { PURGE("state = 'EXPIRED' AND link_type = 'TEMPORARY'"),
		                                 keep->temporary_s, LINK_STATE_EXPIRED },
		[LINK_STORE_ENDED_EXPIRED] = { PURGE("state = 'EXPIRED' AND link_type = 'PERMANENT'"),
		                               keep->expired_s, LINK_STATE_EXPIRED },
		[LINK_STORE_ENDED_DELETED] = { PURGE("state = 'DELETED'"), keep->deleted_s,
		                               LINK_STATE_DELETED },
	};
	struct pg_params params = { 0 };
	pg_params_time(&params, batch->from_us);
	pg_params_int(&params, batch->limit);
	pg_params_int(&params, purges[ended].keep_s);
	return change_batch(conn, purges[ended].sql, &params, LINK_CHANGE_PURGED,
	                    purges[ended].state, batch);
}

enum err link_store_purge(struct pg_conn *conn, struct link *link)
{
	struct link deleted;
	struct link_aliases aliases = { 0 };
	struct pg_params params = { 0 };
	pg_params_int(&params, link->entry.id);
	pg_params_int(&params, link->entry.version);
	enum err err = link_row_query(
		conn,
		"WITH due AS (SELECT id FROM links WHERE id = $1 AND " LINK_ROW_VERSION
		" = $2), " DELETE_DUE "SELECT " LINK_ROW_COLUMNS " FROM last_version",
		&params, &deleted);
	if (err == ERR_NOT_FOUND)
		return ERR_CONFLICT;
	if (err == OK)
		err = link_row_add_event(conn, &deleted, LINK_CHANGE_PURGED);
	if (err == OK) {
		link_aliases_want(&aliases, &deleted);
		err = link_aliases_purge(conn, &aliases, link->entry.state);
	}
	link_aliases_clear(&aliases);
	if (err == OK) {
		link_copy(link, &deleted);
		link->alias_count = 0;
	}
	return err;
}

/* --- all keys --- */

static void read_keys(const struct pg_result *rows, struct link_store_key_page *page)
{
	page->count = pg_result_count(rows);
	for (size_t i = 0; i < page->count; i++)
		snprintf(page->keys[i], SLUG_KEY_SIZE, "%s", pg_result_text(rows, i, 0));
}

enum err link_store_next_keys(struct pg_conn *conn, struct link_store_key_page *page)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_text(&params, page->last);
	pg_params_int(&params, LINK_STORE_KEY_PAGE_MAX);
	enum err err = pg_conn_query(
		conn,
		"(SELECT slug_key FROM links WHERE slug_key > $1 ORDER BY slug_key LIMIT $2) UNION ALL "
		"(SELECT slug_key FROM link_aliases WHERE slug_key > $1 ORDER BY slug_key LIMIT $2) "
		"ORDER BY slug_key LIMIT $2",
		&params, &rows);
	if (err == OK) {
		read_keys(rows, page);
		if (page->count > 0)
			memcpy(page->last, page->keys[page->count - 1], SLUG_KEY_SIZE);
	}
	pg_result_free(rows);
	return err;
}

enum err link_store_newest_id(struct pg_conn *conn, int64_t *id)
{
	return pg_conn_query_int(conn, "SELECT COALESCE(max(id), 0) FROM links", NULL, id);
}

enum err link_store_new_keys(struct pg_conn *conn, int64_t *id, struct link_store_key_page *page)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, *id);
	pg_params_int(&params, LINK_STORE_KEY_PAGE_MAX);
	enum err err = pg_conn_query(
		conn,
		"(SELECT slug_key, id FROM links WHERE id > $1 ORDER BY id LIMIT $2) UNION ALL "
		"(SELECT slug_key, link_id FROM link_aliases WHERE link_id > $1 ORDER BY link_id "
		"FETCH FIRST $2 ROWS WITH TIES) ORDER BY id FETCH FIRST $2 ROWS WITH TIES",
		&params, &rows);
	if (err == OK) {
		read_keys(rows, page);
		if (page->count > 0)
			*id = pg_result_int(rows, page->count - 1, 1);
	}
	pg_result_free(rows);
	return err;
}
