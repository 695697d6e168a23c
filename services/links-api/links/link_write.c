#include "services/links-api/links/link_write.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/links/link_row.h"
#include "lib/links/outbox.h"
#include "lib/postgres/sql_column.h"
#include "services/links-api/destinations/destination.h"

/* The index in the array follows the columns of the link. */
#define PLACE_COLUMN LINK_ROW_COLUMN_COUNT

/* What each statement gets of a link: from ORIGINAL_URL on, or all. */
enum column {
	ID,
	VERSION,
	STATE,
	BLOCKED_REASON,
	ALIAS_COUNT,
	SLUG_EXACT,
	ORIGINAL_URL,
	SHOWN_URL,
	EXPIRED_URL,
	TITLE,
	TAGS,
	REDIRECT_STATUS,
	EXPIRES_AT,
	STARTS_AT,
	EXTRAS,
	FEATURES,
	EXTERNAL_ID,
	SLUG,
	SLUG_CHOSEN,
	COLUMNS
};

static const struct {
	enum sql_column_type type;
	/* Of one value. */
	size_t bytes_max;
} columns[COLUMNS] = {
	[ID] = { SQL_COLUMN_INT8, 8 },
	[VERSION] = { SQL_COLUMN_INT8, 8 },
	[STATE] = { SQL_COLUMN_TEXT, 16 },
	[BLOCKED_REASON] = { SQL_COLUMN_TEXT, LINK_BLOCKED_REASON_SIZE },
	[ALIAS_COUNT] = { SQL_COLUMN_INT2, 2 },
	[SLUG_EXACT] = { SQL_COLUMN_INT2, 2 },
	[ORIGINAL_URL] = { SQL_COLUMN_TEXT, LINK_URL_SIZE },
	[SHOWN_URL] = { SQL_COLUMN_TEXT, DESTINATION_SHOWN_SIZE },
	[EXPIRED_URL] = { SQL_COLUMN_TEXT, LINK_URL_SIZE },
	[TITLE] = { SQL_COLUMN_TEXT, LINK_TITLE_SIZE },
	[TAGS] = { SQL_COLUMN_TEXT, LINK_ROW_TAGS_SIZE },
	[REDIRECT_STATUS] = { SQL_COLUMN_INT2, 2 },
	[EXPIRES_AT] = { SQL_COLUMN_TIME, 8 }, /* 0, which is 'epoch': NULL */
	[STARTS_AT] = { SQL_COLUMN_TIME, 8 },
	[EXTRAS] = { SQL_COLUMN_BYTES, LINK_EXTRAS_BYTES_MAX },
	[FEATURES] = { SQL_COLUMN_INT2, 2 },
	[EXTERNAL_ID] = { SQL_COLUMN_TEXT, LINK_EXTERNAL_ID_SIZE },
	[SLUG] = { SQL_COLUMN_TEXT, SLUG_SIZE },
	[SLUG_CHOSEN] = { SQL_COLUMN_INT2, 2 },
};

struct input {
	struct sql_column column[COLUMNS];
};

static void input_init(struct input *input, size_t count)
{
	for (size_t i = 0; i < COLUMNS; i++)
		sql_column_init_for(&input->column[i], columns[i].type, count,
		                    columns[i].bytes_max);
}

static void input_clear(struct input *input)
{
	for (size_t i = 0; i < COLUMNS; i++)
		sql_column_clear(&input->column[i]);
}

/* Adds the columns from the first to the last one as parameters. */
static enum err input_params(struct input *input, enum column first, enum column last,
                             struct pg_params *params)
{
	enum err err = OK;
	for (unsigned i = first; err == OK && i <= (unsigned)last; i++)
		err = sql_column_param(&input->column[i], params);
	return err;
}

/* Of both statements. */
static enum err add_row(struct input *input, const struct link_write_new *link)
{
	struct sql_column *column = input->column;
	char tags[LINK_ROW_TAGS_SIZE];
	char shown_url[DESTINATION_SHOWN_SIZE];
	enum err err = link_row_join_tags(link->tags, tags);
	if (err != OK)
		return err;
	destination_show(link->original_url, shown_url);
	sql_column_add_text(&column[SLUG], link->slug);
	sql_column_add_int(&column[SLUG_CHOSEN], link->is_slug_chosen);
	sql_column_add_text(&column[ORIGINAL_URL], link->original_url);
	sql_column_add_text(&column[SHOWN_URL], shown_url);
	sql_column_add_text(&column[EXPIRED_URL], link->expired_url ? link->expired_url : "");
	sql_column_add_text(&column[TITLE], link->title ? link->title : "");
	sql_column_add_text(&column[TAGS], tags);
	sql_column_add_int(&column[REDIRECT_STATUS], link->redirect_status);
	sql_column_add_time(&column[EXPIRES_AT], link->expires_at_us);
	sql_column_add_time(&column[STARTS_AT], link->starts_at_us);
	sql_column_add_bytes(&column[EXTRAS], link->extras_len > 0 ? link->extras : NULL,
	                     link->extras_len);
	sql_column_add_int(&column[FEATURES], link->features);
	sql_column_add_text(&column[EXTERNAL_ID], link->external_id ? link->external_id : "");
	return OK;
}

/* --- creation --- */

#define FOLDED "lower(new.slug COLLATE \"C\")"

/*
 * The conditions are those of the trigger links_refuse_used_slug.
 *
 * If this statement waits for the lock of a slug, the link may have been purged by the time it gets
 * the lock. Then the trigger of the tables rejects the whole statement
 * (docs/decisions/0005-slugs-are-never-reused.md).
 */
/* LIMIT $17 takes none away: PostgreSQL then keeps one plan (link_details.c). */
static enum err insert_rows(struct pg_conn *conn, struct input *input,
                            const struct link_write_new *first, size_t count,
                            struct pg_result **rows)
{
	struct pg_params params = { 0 };
	enum err err = input_params(input, ORIGINAL_URL, SLUG_CHOSEN, &params);
	if (err != OK)
		return err;
	if (first->workspace_id)
		pg_params_int(&params, first->workspace_id);
	else
		pg_params_null(&params);
	pg_params_bytes(&params, first->claim_token_hash, DIGEST_SIZE);
	pg_params_bool(&params, first->is_slug_exact);
	pg_params_int(&params, (int64_t)count);
	return pg_conn_query(
		conn,
		"INSERT INTO links (original_url, shown_url, expired_url, title, tags, redirect_status, expires_at, "
		"starts_at, extras, features, external_id, slug, slug_chosen, slug_exact, link_type, workspace_id, "
		"claim_token_hash, created_at, updated_at) "
		"SELECT original_url, shown_url, NULLIF(expired_url, ''), title, " LINK_ROW_TAGS_FROM_TEXT(
			"tags") ", redirect_status, NULLIF(expires_at, 'epoch'), NULLIF(starts_at, 'epoch'), "
				"extras, features, NULLIF(external_id, ''), slug, slug_chosen = 1, $16, "
				"CASE WHEN $14::bigint IS NULL THEN 'TEMPORARY' ELSE 'PERMANENT' END, "
				"$14, $15, at, at "
				"FROM (SELECT new.*, statement_timestamp() + ordinal * interval '1 microsecond' AS at "
				"FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::smallint[], "
				"$7::timestamptz[], $8::timestamptz[], $9::bytea[], $10::smallint[], $11::text[], $12::text[], "
				"$13::smallint[]) WITH ORDINALITY AS new (original_url, shown_url, expired_url, title, tags, "
				"redirect_status, expires_at, starts_at, extras, features, external_id, slug, slug_chosen, "
				"ordinal) LIMIT $17) AS new "
				"WHERE NOT EXISTS (SELECT FROM link_tombstones AS gone WHERE lower(gone.slug) = " FOLDED
				" AND (gone.slug = new.slug OR NOT (gone.slug_exact AND $16))) "
				"AND NOT EXISTS (SELECT FROM link_aliases AS alias WHERE lower(alias.slug) = " FOLDED
				" AND (alias.slug = new.slug OR NOT (alias.slug_exact AND $16))) "
				"AND NOT ($16 AND EXISTS (SELECT FROM links AS other WHERE other.slug_key = " FOLDED
				")) "
				"AND NOT (NOT $16 AND EXISTS (SELECT FROM links AS other "
				"WHERE other.slug_exact AND lower(other.slug) = " FOLDED ")) "
				"ORDER BY " FOLDED ", slug COLLATE \"C\" "
				"ON CONFLICT (slug_key) DO NOTHING RETURNING " LINK_ROW_COLUMNS,
		&params, rows);
}

static enum err insert(struct pg_conn *conn, const struct link_write_new *new_links, size_t count,
                       struct pg_result **rows)
{
	struct input input;
	enum err err = OK;
	input_init(&input, count);
	for (size_t i = 0; err == OK && i < count; i++)
		err = add_row(&input, &new_links[i]);
	if (err == OK)
		err = insert_rows(conn, &input, &new_links[0], count, rows);
	if (err == ERR_CONFLICT && strcmp(pg_conn_constraint(conn), "links_workspace_id_fkey") == 0)
		err = ERR_NOT_FOUND;
	input_clear(&input);
	return err;
}

/* The position of each slug in the request. */
struct position {
	const char *slug;
	size_t index;
};

static int compare_positions(const void *a, const void *b)
{
	return strcmp(((const struct position *)a)->slug, ((const struct position *)b)->slug);
}

static struct position *sort_positions(const struct link_write_new *new_links, size_t count)
{
	struct position *positions = mem_array(count, sizeof(*positions));
	for (size_t i = 0; i < count; i++)
		positions[i] = (struct position){ new_links[i].slug, i };
	qsort(positions, count, sizeof(*positions), compare_positions);
	return positions;
}

/* Rows come in the order of insertion, which differs from the caller's order. */
static enum err read_created(const struct pg_result *rows, const struct position *positions,
                             size_t count, struct link *const *links, bool *is_created)
{
	for (size_t i = 0; i < pg_result_count(rows); i++) {
		const struct position key = { .slug = pg_result_text(rows, i, 1) };
		const struct position *position =
			bsearch(&key, positions, count, sizeof(*positions), compare_positions);
		if (!position)
			return ERR_INTERNAL;
		enum err err = link_row_read(rows, i, links[position->index]);
		if (err != OK)
			return err;
		is_created[position->index] = true;
	}
	return OK;
}

static void add_event(struct outbox_bulk *events, const struct link *link, enum link_change change)
{
	struct link_event event;
	link_row_to_event(link, change, &event);
	outbox_bulk_add(events, &event);
}

enum err link_write_create(struct pg_conn *conn, const struct link_write_new *new_links,
                           size_t count, struct link *const *links, bool *is_created)
{
	if (count > LINK_WRITE_MAX)
		return ERR_LIMIT;
	for (size_t i = 0; i < count; i++)
		is_created[i] = false;
	if (count == 0)
		return OK;
	struct pg_result *rows = NULL;
	struct outbox_bulk events;
	struct position *positions = sort_positions(new_links, count);
	outbox_bulk_init(&events, OUTBOX_URGENT, count);
	enum err err = insert(conn, new_links, count, &rows);
	if (err == OK)
		err = read_created(rows, positions, count, links, is_created);
	for (size_t i = 0; err == OK && i < count; i++)
		if (is_created[i])
			add_event(&events, links[i], LINK_CHANGE_CREATED);
	if (err == OK)
		err = outbox_bulk_insert(&events, conn);
	outbox_bulk_clear(&events);
	pg_result_free(rows);
	free(positions);
	return err;
}

/* --- updates --- */

enum err link_write_lock(struct pg_conn *conn, const int64_t *ids, size_t count, struct link *links,
                         size_t *locked)
{
	struct sql_column column;
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	if (count > LINK_WRITE_MAX)
		return ERR_LIMIT;
	sql_column_init_for(&column, SQL_COLUMN_INT8, count, columns[ID].bytes_max);
	for (size_t i = 0; i < count; i++)
		sql_column_add_int(&column, ids[i]);
	enum err err = sql_column_param(&column, &params);
	if (err == OK)
		err = pg_conn_query(conn,
		                    "SELECT " LINK_ROW_COLUMNS
		                    " FROM links WHERE id = ANY ($1::bigint[]) "
		                    "ORDER BY id FOR UPDATE",
		                    &params, &rows);
	*locked = err == OK ? pg_result_count(rows) : 0;
	for (size_t i = 0; err == OK && i < *locked; i++)
		err = link_row_read(rows, i, &links[i]);
	pg_result_free(rows);
	sql_column_clear(&column);
	return err;
}

/*
 * Right-hand sides see the old values. state_since changes only with the state, because the grace
 * period before a purge counts from it.
 */
static enum err update_rows(struct pg_conn *conn, struct input *input, struct pg_result **rows)
{
	struct pg_params params = { 0 };
	enum err err = input_params(input, ID, SLUG_CHOSEN, &params);
	if (err != OK)
		return err;
	return pg_conn_query(
		conn,
		"UPDATE links SET version = version + 1, state = new_state, original_url = new_url, "
		"shown_url = new_shown_url, "
		"expired_url = NULLIF(new_expired_url, ''), title = new_title, "
		"tags = " LINK_ROW_TAGS_FROM_TEXT(
			"new_tags") ", redirect_status = new_status, "
				    "expires_at = NULLIF(new_expires_at, 'epoch'), "
				    "starts_at = NULLIF(new_starts_at, 'epoch'), extras = new_extras, "
				    "features = new_features, external_id = NULLIF(new_external_id, ''), "
				    "blocked_reason = NULLIF(new_blocked_reason, ''), alias_count = new_alias_count, "
				    "slug = new_slug, slug_chosen = new_chosen = 1, slug_exact = new_exact = 1, "
				    "updated_at = clock_timestamp(), "
				    "state_since = CASE WHEN state = new_state THEN state_since "
				    "ELSE clock_timestamp() END, "
				    "state_before_deletion = CASE WHEN new_state <> 'DELETED' THEN NULL "
				    "WHEN state = 'DELETED' THEN state_before_deletion ELSE state END "
				    "FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::smallint[], "
				    "$6::smallint[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], "
				    "$12::smallint[], $13::timestamptz[], $14::timestamptz[], $15::bytea[], $16::smallint[], "
				    "$17::text[], $18::text[], $19::smallint[]) "
				    "WITH ORDINALITY AS input (old_id, old_version, new_state, new_blocked_reason, "
				    "new_alias_count, new_exact, new_url, new_shown_url, new_expired_url, new_title, new_tags, "
				    "new_status, new_expires_at, new_starts_at, new_extras, new_features, "
				    "new_external_id, new_slug, new_chosen, place) "
				    "WHERE id = old_id AND " LINK_ROW_VERSION " = old_version "
				    "RETURNING " LINK_ROW_COLUMNS ", place",
		&params, rows);
}

static enum err update(struct pg_conn *conn, const struct link *links, size_t count,
                       struct pg_result **rows)
{
	struct input input;
	enum err err = OK;
	input_init(&input, count);
	for (size_t i = 0; err == OK && i < count; i++) {
		const struct link_entry *entry = &links[i].entry;
		sql_column_add_int(&input.column[ID], entry->id);
		sql_column_add_int(&input.column[VERSION], entry->version);
		sql_column_add_text(&input.column[STATE], link_state_stored(entry->state));
		sql_column_add_text(&input.column[BLOCKED_REASON], links[i].blocked_reason);
		sql_column_add_int(&input.column[ALIAS_COUNT], links[i].alias_count);
		sql_column_add_int(&input.column[SLUG_EXACT], entry->is_slug_exact);
		err = add_row(&input,
		              &(struct link_write_new){ .slug = entry->slug,
		                                        .is_slug_chosen = entry->is_slug_chosen,
		                                        .original_url = entry->original_url,
		                                        .expired_url = entry->expired_url,
		                                        .title = links[i].title,
		                                        .tags = &links[i].tags,
		                                        .redirect_status = entry->redirect_status,
		                                        .starts_at_us = entry->starts_at_us,
		                                        .expires_at_us = entry->expires_at_us,
		                                        .extras = entry->extras,
		                                        .extras_len = entry->extras_len,
		                                        .features = links[i].features,
		                                        .external_id = links[i].external_id });
	}
	if (err == OK)
		err = update_rows(conn, &input, rows);
	if (err == OK && pg_result_count(*rows) != count)
		err = ERR_CONFLICT;
	input_clear(&input);
	return err;
}

enum err link_write_update(struct pg_conn *conn, struct link *links,
                           const enum link_change *changes, size_t count)
{
	struct pg_result *rows = NULL;
	struct outbox_bulk events;
	if (count == 0)
		return OK;
	if (count > LINK_WRITE_MAX)
		return ERR_LIMIT;
	outbox_bulk_init(&events, OUTBOX_URGENT, count);
	enum err err = update(conn, links, count, &rows);
	for (size_t i = 0; err == OK && i < count; i++) {
		int64_t place = pg_result_int(rows, i, PLACE_COLUMN);
		err = place < 1 || (size_t)place > count
		              ? ERR_INTERNAL
		              : link_row_read(rows, i, &links[place - 1]);
		if (err == OK)
			add_event(&events, &links[place - 1], changes[place - 1]);
	}
	if (err == OK)
		err = outbox_bulk_insert(&events, conn);
	outbox_bulk_clear(&events);
	pg_result_free(rows);
	return err;
}

enum err link_write_block(struct pg_conn *conn, int64_t id, const char *reason, struct link *link)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	pg_params_text(&params, reason);
	enum err err = link_row_query(conn,
	                              "UPDATE links SET version = version + 1, "
	                              "blocked_reason = NULLIF($2, ''), "
	                              "updated_at = clock_timestamp() WHERE id = $1 "
	                              "AND blocked_reason IS DISTINCT FROM NULLIF($2, '') "
	                              "RETURNING " LINK_ROW_COLUMNS,
	                              &params, link);
	return err == OK ? link_row_add_event(conn, link, LINK_CHANGE_UPDATED) : err;
}
