#include "services/links-api/links/link_bulk_store.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/links/link_row.h"
#include "lib/links/outbox.h"
#include "lib/postgres/sql_column.h"

enum column {
	SLUG,
	REDIRECT_STATUS,
	ORIGINAL_URL,
	EXPIRES_AT,
	EXPIRED_URL,
	TITLE,
	TAGS,
	STARTS_AT,
	COLUMNS
};

static const struct {
	enum sql_column_type type;
	/* Of one value. */
	size_t bytes_max;
} columns[COLUMNS] = {
	[SLUG] = { SQL_COLUMN_TEXT, SLUG_SIZE },
	[REDIRECT_STATUS] = { SQL_COLUMN_INT2, 2 },
	[ORIGINAL_URL] = { SQL_COLUMN_TEXT, LINK_URL_SIZE },
	[EXPIRES_AT] = { SQL_COLUMN_TIME, 8 },
	[EXPIRED_URL] = { SQL_COLUMN_TEXT, LINK_URL_SIZE },
	[TITLE] = { SQL_COLUMN_TEXT, LINK_TITLE_SIZE },
	[TAGS] = { SQL_COLUMN_TEXT, LINK_ROW_TAGS_SIZE },
	[STARTS_AT] = { SQL_COLUMN_TIME, 8 },
};

static enum err add_row(struct sql_column rows[static COLUMNS],
                        const struct link_store_new *new_link)
{
	char tags[LINK_ROW_TAGS_SIZE];
	enum err err = link_row_join_tags(new_link->tags, tags);
	if (err != OK)
		return err;
	sql_column_add_text(&rows[SLUG], new_link->slug);
	sql_column_add_int(&rows[REDIRECT_STATUS], new_link->redirect_status);
	sql_column_add_text(&rows[ORIGINAL_URL], new_link->original_url);
	sql_column_add_time(&rows[EXPIRES_AT], new_link->expires_at_us);
	sql_column_add_text(&rows[EXPIRED_URL], new_link->expired_url ? new_link->expired_url : "");
	sql_column_add_text(&rows[TITLE], new_link->title ? new_link->title : "");
	sql_column_add_text(&rows[TAGS], tags);
	sql_column_add_time(&rows[STARTS_AT], new_link->starts_at_us);
	return OK;
}

/*
 * If this statement waits for the lock of a slug, the link may have been purged by the time it gets
 * the lock. Then the trigger of the tables rejects the whole statement
 * (docs/decisions/0005-slugs-are-never-reused.md). The time 1970 stands for no time.
 */
static enum err insert_rows(struct pg_conn *conn, struct sql_column columns_of[static COLUMNS],
                            int64_t owner_id, struct pg_result **rows)
{
	struct pg_params params = { 0 };
	for (size_t i = 0; i < COLUMNS; i++) {
		enum err err = sql_column_param(&columns_of[i], &params);
		if (err != OK)
			return err;
	}
	pg_params_int(&params, owner_id);
	return pg_conn_query(
		conn,
		"INSERT INTO links (slug, link_type, redirect_status, original_url, expires_at, expired_url, title, "
		"tags, starts_at, owner_id, created_at, updated_at) "
		"SELECT slug, 'PERMANENT', redirect_status, original_url, NULLIF(expires_at, 'epoch'), "
		"NULLIF(expired_url, ''), title, " LINK_ROW_TAGS_FROM_TEXT(
			"tags") ", NULLIF(starts_at, 'epoch'), $9, at, at "
				"FROM (SELECT new.*, statement_timestamp() + ordinal * interval '1 microsecond' AS at "
				"FROM unnest($1::text[], $2::smallint[], $3::text[], $4::timestamptz[], $5::text[], "
				"$6::text[], $7::text[], $8::timestamptz[]) WITH ORDINALITY AS new (slug, redirect_status, original_url, "
				"expires_at, expired_url, title, tags, starts_at, ordinal)) AS new "
				"WHERE NOT EXISTS (SELECT FROM link_tombstones WHERE link_tombstones.slug = new.slug) "
				"ORDER BY slug COLLATE \"C\" "
				"ON CONFLICT (slug) DO NOTHING RETURNING " LINK_ROW_COLUMNS,
		&params, rows);
}

static enum err insert(struct pg_conn *conn, const struct link_store_new *new_links, size_t count,
                       struct pg_result **rows)
{
	struct sql_column new_columns[COLUMNS];
	enum err err = OK;
	for (size_t i = 0; i < COLUMNS; i++)
		sql_column_init_for(&new_columns[i], columns[i].type, count, columns[i].bytes_max);
	for (size_t i = 0; err == OK && i < count; i++)
		err = add_row(new_columns, &new_links[i]);
	if (err == OK)
		err = insert_rows(conn, new_columns, new_links[0].owner_id, rows);
	if (err == ERR_CONFLICT && strcmp(pg_conn_constraint(conn), "links_owner_id_fkey") == 0)
		err = ERR_NOT_FOUND;
	for (size_t i = 0; i < COLUMNS; i++)
		sql_column_clear(&new_columns[i]);
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

static struct position *sort_positions(const struct link_store_new *new_links, size_t count)
{
	struct position *positions = mem_array(count, sizeof(*positions));
	for (size_t i = 0; i < count; i++)
		positions[i] = (struct position){ new_links[i].slug, i };
	qsort(positions, count, sizeof(*positions), compare_positions);
	return positions;
}

/* Rows come in the order of insertion, which differs from the caller's order. */
static enum err read_created(const struct pg_result *rows, const struct position *positions,
                             size_t count, struct link *links, bool *is_created)
{
	for (size_t i = 0; i < pg_result_count(rows); i++) {
		const struct position key = { .slug = pg_result_text(rows, i, 1) };
		const struct position *position =
			bsearch(&key, positions, count, sizeof(*positions), compare_positions);
		if (!position)
			return ERR_INTERNAL;
		enum err err = link_row_read(rows, i, &links[position->index]);
		if (err != OK)
			return err;
		is_created[position->index] = true;
	}
	return OK;
}

static enum err record_created(struct pg_conn *conn, const struct link *links,
                               const bool *is_created, size_t count)
{
	struct outbox_bulk events;
	outbox_bulk_init(&events, OUTBOX_URGENT, count);
	for (size_t i = 0; i < count; i++) {
		struct link_event event;
		if (!is_created[i])
			continue;
		link_row_to_event(&links[i], LINK_CHANGE_CREATED, &event);
		outbox_bulk_add(&events, &event);
	}
	enum err err = outbox_bulk_insert(&events, conn);
	outbox_bulk_clear(&events);
	return err;
}

enum err link_bulk_store_create(struct pg_conn *conn, const struct link_store_new *new_links,
                                size_t count, struct link *links, bool *is_created)
{
	if (count > LINK_BULK_STORE_MAX)
		return ERR_LIMIT;
	for (size_t i = 0; i < count; i++)
		is_created[i] = false;
	if (count == 0)
		return OK;
	struct pg_result *rows = NULL;
	struct position *positions = sort_positions(new_links, count);
	enum err err = insert(conn, new_links, count, &rows);
	if (err == OK)
		err = read_created(rows, positions, count, links, is_created);
	if (err == OK)
		err = record_created(conn, links, is_created, count);
	pg_result_free(rows);
	free(positions);
	return err;
}
