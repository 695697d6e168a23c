#include "services/links-api/links/link_details.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/links/link_check_store.h"
#include "lib/links/visit_limit.h"
#include "lib/postgres/sql_column.h"

/* The columns of the statement below. */
enum column {
	VISITS,
	BOTS,
	LAST_VISIT,
	DESTINATION_STATUS,
	LAST_CHECKED,
	PURGE,
	VISITS_LEFT,
	NOTES,
};

/*
 * LIMIT $3 takes none away. With it PostgreSQL expects few rows of any array and so keeps one plan:
 * a plan for each execution takes six times as long as the execution.
 */
static const char read_sql[] =
	"SELECT s.visit_count, s.bot_count, s.last_visited_at, destination_status, last_checked_at, "
	"interval '1 s' * CASE state WHEN 'DELETED' THEN deleted_s ELSE CASE link_type "
	"WHEN 'TEMPORARY' THEN temporary_s ELSE expired_s END END + "
	"CASE WHEN state IN ('DELETED', 'EXPIRED') THEN state_since WHEN state = 'ACTIVE' "
	"AND expires_at <= clock_timestamp() THEN expires_at END, "
	"max_visits - least(taken, max_visits), "
	"CASE WHEN workspace_id = $2 THEN coalesce(notes, '') END "
	"FROM (SELECT * FROM unnest($1::bigint[]) WITH ORDINALITY AS id (id, ordinal) LIMIT $3) AS requested "
	"LEFT JOIN links l USING (id) LEFT JOIN link_statistics s ON s.link_id = id "
	"LEFT JOIN link_visit_limits v ON v.link_id = id LEFT JOIN link_notes n ON n.link_id = id "
	"LEFT JOIN link_keeping ON true ORDER BY ordinal";

static void make_room(struct link_details *details, size_t count)
{
	struct link_aliases wanted = details->aliases;
	details->aliases = (struct link_aliases){ 0 };
	link_details_clear(details);
	details->aliases = wanted;
	details->count = count;
	details->of = mem_array(count, sizeof(*details->of));
}

static int64_t int_or(const struct pg_result *rows, size_t row, enum column column,
                      int64_t otherwise)
{
	return pg_result_is_null(rows, row, column) ? otherwise : pg_result_int(rows, row, column);
}

static void read_row(const struct pg_result *rows, size_t row, struct link_detail *out)
{
	*out = (struct link_detail){
		.visit_count = pg_result_int(rows, row, VISITS),
		.bot_count = pg_result_int(rows, row, BOTS),
		.last_visited_at_us = pg_result_time(rows, row, LAST_VISIT),
		.destination_status = (int)int_or(rows, row, DESTINATION_STATUS, LINK_CHECK_NEVER),
		.last_checked_at_us = pg_result_time(rows, row, LAST_CHECKED),
		.purge_at_us = pg_result_time(rows, row, PURGE),
		.visits_left = int_or(rows, row, VISITS_LEFT, VISIT_LIMIT_NONE),
	};
	if (!pg_result_is_null(rows, row, NOTES))
		out->notes = mem_text(pg_result_text(rows, row, NOTES));
}

static enum err read_rows(struct link_details *details, struct pg_conn *conn,
                          struct sql_column *ids, int64_t workspace_id)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	enum err err = sql_column_param(ids, &params);
	pg_params_int(&params, workspace_id);
	pg_params_int(&params, (int64_t)details->count);
	if (err == OK)
		err = pg_conn_query(conn, read_sql, &params, &rows);
	if (err == OK && pg_result_count(rows) != details->count)
		err = ERR_INTERNAL;
	for (size_t i = 0; err == OK && i < details->count; i++)
		read_row(rows, i, &details->of[i]);
	pg_result_free(rows);
	return err;
}

enum err link_details_read(struct link_details *details, const struct request *r,
                           struct pg_conn *conn, const int64_t *ids, size_t count)
{
	make_room(details, count);
	enum err err = link_aliases_read(&details->aliases, conn);
	if (err != OK || count == 0)
		return err;
	struct sql_column column;
	sql_column_init_for(&column, SQL_COLUMN_INT8, count, sizeof(*ids));
	for (size_t i = 0; i < count; i++)
		sql_column_add_int(&column, ids[i]);
	err = read_rows(details, conn, &column, r->workspace_id);
	sql_column_clear(&column);
	return err;
}

void link_details_set_new(struct link_details *details, const char *notes)
{
	make_room(details, 1);
	details->of[0] = (struct link_detail){ .destination_status = LINK_CHECK_NEVER,
		                               .visits_left = VISIT_LIMIT_NONE,
		                               .notes = notes ? mem_text(notes) : NULL };
}

void link_details_clear(struct link_details *details)
{
	for (size_t i = 0; i < details->count; i++)
		free(details->of[i].notes);
	free(details->of);
	link_aliases_clear(&details->aliases);
	*details = (struct link_details){ 0 };
}
