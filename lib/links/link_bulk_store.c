#include "lib/links/link_bulk_store.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/links/link_row.h"
#include "lib/links/outbox.h"
#include "lib/net/sql_column.h"

/* Of a sql_column: its own bytes, and those of each value. */
#define COLUMN_HEADER 64
#define COLUMN_LENGTH 4

enum column { SLUG, REDIRECT_STATUS, ORIGINAL_URL, EXPIRES_AT, EXPIRED_URL, TITLE, TAGS, COLUMNS };

static const struct {
	enum sql_column_type type;
	size_t bytes_max; /* of one value */
} columns[COLUMNS] = {
	[SLUG] = { SQL_COLUMN_TEXT, SLUG_SIZE },
	[REDIRECT_STATUS] = { SQL_COLUMN_INT2, 2 },
	[ORIGINAL_URL] = { SQL_COLUMN_TEXT, LINK_URL_SIZE },
	[EXPIRES_AT] = { SQL_COLUMN_TIME, 8 },
	[EXPIRED_URL] = { SQL_COLUMN_TEXT, LINK_URL_SIZE },
	[TITLE] = { SQL_COLUMN_TEXT, LINK_TITLE_SIZE },
	[TAGS] = { SQL_COLUMN_TEXT, LINK_ROW_TAGS_SIZE },
};

static enum err put_row(struct sql_column rows[static COLUMNS], const struct link_store_new *new_link)
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
	return OK;
}

/*
 * A slug that is waited for may have been purged when the wait ends: then the tables' trigger refuses the whole
 * statement (docs/decisions/0005-slugs-are-never-reused.md). The time 1970 stands for none.
 */
static enum err insert_rows(struct pg_conn *conn, struct sql_column columns_of[static COLUMNS], int64_t owner_id,
                            struct pg_result **rows)
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
		"tags, owner_id, created_at, updated_at) "
		"SELECT slug, 'PERMANENT', redirect_status, original_url, NULLIF(expires_at, 'epoch'), "
		"NULLIF(expired_url, ''), title, " LINK_ROW_TAGS_FROM_TEXT(
			"tags") ", $8, at, at "
				"FROM (SELECT new.*, statement_timestamp() + place * interval '1 microsecond' AS at "
				"FROM unnest($1::text[], $2::smallint[], $3::text[], $4::timestamptz[], $5::text[], "
				"$6::text[], $7::text[]) WITH ORDINALITY AS new (slug, redirect_status, original_url, "
				"expires_at, expired_url, title, tags, place)) AS new "
				"WHERE NOT EXISTS (SELECT FROM link_tombstones WHERE link_tombstones.slug = new.slug) "
				"ORDER BY slug COLLATE \"C\" "
				"ON CONFLICT (slug) DO NOTHING RETURNING " LINK_ROW_COLUMNS,
		&params, rows);
}

static enum err insert(struct pg_conn *conn, const struct link_store_new *news, size_t count, struct pg_result **rows)
{
	struct sql_column put[COLUMNS];
	enum err err = OK;
	for (size_t i = 0; i < COLUMNS; i++)
		sql_column_init(&put[i], columns[i].type,
		                COLUMN_HEADER + count * (COLUMN_LENGTH + columns[i].bytes_max));
	for (size_t i = 0; err == OK && i < count; i++)
		err = put_row(put, &news[i]);
	if (err == OK)
		err = insert_rows(conn, put, news[0].owner_id, rows);
	if (err == ERR_CONFLICT && strcmp(pg_conn_constraint(conn), "links_owner_id_fkey") == 0)
		err = ERR_NOT_FOUND;
	for (size_t i = 0; i < COLUMNS; i++)
		sql_column_clear(&put[i]);
	return err;
}

/* Where each slug stands in what was asked for. */
struct place {
	const char *slug;
	size_t index;
};

static int compare_places(const void *a, const void *b)
{
	return strcmp(((const struct place *)a)->slug, ((const struct place *)b)->slug);
}

static struct place *sort_places(const struct link_store_new *news, size_t count)
{
	struct place *places = mem_array(count, sizeof(*places));
	for (size_t i = 0; i < count; i++)
		places[i] = (struct place){ news[i].slug, i };
	qsort(places, count, sizeof(*places), compare_places);
	return places;
}

/* Rows come in the order in which they were inserted, which is not the caller's. */
static enum err take_rows(const struct pg_result *rows, const struct place *places, size_t count, struct link *links,
                          bool *is_made)
{
	for (size_t i = 0; i < pg_result_count(rows); i++) {
		const struct place wanted = { .slug = pg_result_text(rows, i, 1) };
		const struct place *place = bsearch(&wanted, places, count, sizeof(*places), compare_places);
		if (!place)
			return ERR_INTERNAL;
		enum err err = link_row_read(rows, i, &links[place->index]);
		if (err != OK)
			return err;
		is_made[place->index] = true;
	}
	return OK;
}

static enum err record(struct pg_conn *conn, const struct link *links, const bool *is_made, size_t count)
{
	struct outbox_bundle bundle;
	outbox_bundle_init(&bundle, OUTBOX_URGENT, count);
	for (size_t i = 0; i < count; i++) {
		struct link_event event;
		if (!is_made[i])
			continue;
		link_row_describe(&links[i], LINK_CHANGE_CREATED, &event);
		outbox_bundle_put(&bundle, &event);
	}
	enum err err = outbox_bundle_add(&bundle, conn);
	outbox_bundle_clear(&bundle);
	return err;
}

enum err link_bulk_store_create(struct pg_conn *conn, const struct link_store_new *news, size_t count,
                                struct link *links, bool *is_made)
{
	if (count > LINK_BULK_STORE_MAX)
		return ERR_LIMIT;
	for (size_t i = 0; i < count; i++)
		is_made[i] = false;
	if (count == 0)
		return OK;
	struct pg_result *rows = NULL;
	struct place *places = sort_places(news, count);
	enum err err = insert(conn, news, count, &rows);
	if (err == OK)
		err = take_rows(rows, places, count, links, is_made);
	if (err == OK)
		err = record(conn, links, is_made, count);
	pg_result_free(rows);
	free(places);
	return err;
}
