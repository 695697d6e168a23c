#include "services/janitor/retention/rollups.h"

#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/base/strbuf.h"
#include "lib/clicks/rollup_table.h"
#include "services/janitor/retention/days.h"

/* Deltas that a step looks at; most of them may have to wait. */
#define PAGE "2000"
#define TEXT_OF(number) TEXT_OF_VALUE(number)
#define TEXT_OF_VALUE(number) #number
/* Steps whose deletions are read again together, at first. */
#define TRAIL_STEPS_MIN 8
/* Of a tid in an array literal: "(4294967295,65535)", */
#define TID_BYTES_MAX 24

#define FROM_POSITION                                                                                          \
	" FROM rollup_delta WHERE (workspace_id, hour, link_id) >= ($1::bigint, $2::timestamptz, $3::bigint) " \
	"ORDER BY workspace_id, hour, link_id"
/* Deltas that are due, with the numbers of entries of their rows. */
static const char find_sql[] =
	"SELECT d.*, "
	"(SELECT entries FROM rollup_hour AS t WHERE t.link_id = d.link_id AND t.hour = d.hour), "
	"(SELECT entries FROM rollup_day AS t WHERE t.link_id = d.link_id "
	"AND t.day = (d.hour AT TIME ZONE 'UTC')::date), "
	"(SELECT entries FROM rollup_workspace_hour AS t WHERE t.workspace_id = d.workspace_id AND t.hour = d.hour), "
	"(SELECT entries FROM rollup_workspace_day AS t WHERE t.workspace_id = d.workspace_id "
	"AND t.day = (d.hour AT TIME ZONE 'UTC')::date) "
	"FROM (SELECT *, count(*) OVER (PARTITION BY workspace_id, hour, link_id) AS n FROM "
	"(SELECT workspace_id, hour, link_id, ctid, entries" FROM_POSITION " LIMIT " PAGE
	") AS page) AS d "
	"WHERE n >= " TEXT_OF(
		ROLLUPS_FOLD_DELTAS_MIN) " OR hour + interval '1 hour' <= $4::timestamptz "
					 "ORDER BY workspace_id, hour, link_id LIMIT $5::bigint";
enum {
	WORKSPACE,
	HOUR,
	LINK,
	TID,
	ENTRIES,
	COUNT,
	OF_LINK_HOUR,
	OF_LINK_DAY,
	OF_WORKSPACE_HOUR,
	OF_WORKSPACE_DAY
};

static const char find_next_page_sql[] =
	"SELECT workspace_id, hour, link_id" FROM_POSITION " OFFSET " PAGE " LIMIT 1";

/* The order and the limit keep the planner on the index. */
static const char read_again_sql[] =
	"SELECT count(*) FROM (SELECT FROM rollup_delta "
	"WHERE (workspace_id, hour, link_id) >= ($1::bigint, $2::timestamptz, $3::bigint) "
	"AND (workspace_id, hour, link_id) <= ($4::bigint, $5::timestamptz, $6::bigint) "
	"ORDER BY workspace_id, hour, link_id LIMIT " PAGE ") AS page";

/* A fold that a crash undoes is done again, so its commit need not wait for the disk. */
static const char commit_sql[] = "SET LOCAL synchronous_commit = off";

static const char take_sql[] =
	"DELETE FROM rollup_delta AS d WHERE ctid = ANY (ARRAY("
	"SELECT ctid FROM rollup_delta WHERE ctid = ANY ($1::tid[]) FOR UPDATE SKIP LOCKED)) "
	"RETURNING link_id, CASE WHEN EXISTS (SELECT FROM workspaces WHERE id = d.workspace_id AND deleted_at IS NULL) "
	"THEN workspace_id ELSE 0 END, hour, "
	"hour >= (SELECT (hours_since - 1)::timestamp AT TIME ZONE 'UTC' FROM rollup_progress), " ROLLUP_TABLE_COLUMNS;
enum { TAKEN_LINK, TAKEN_WORKSPACE, TAKEN_HOUR, TAKEN_HOUR_IS_KEPT, TAKEN_LISTS };

static void add_position(struct pg_params *params, const struct rollups_position *position)
{
	pg_params_int(params, position->workspace_id);
	pg_params_time(params, position->hour_us);
	pg_params_int(params, position->link_id);
}

static struct rollups_position position_of(const struct pg_result *rows, size_t row)
{
	return (struct rollups_position){ .workspace_id = pg_result_int(rows, row, WORKSPACE),
		                          .hour_us = pg_result_time(rows, row, HOUR),
		                          .link_id = pg_result_int(rows, row, LINK) };
}

static bool is_same(const struct rollups_position *a, const struct rollups_position *b)
{
	return a->workspace_id == b->workspace_id && a->hour_us == b->hour_us &&
	       a->link_id == b->link_id;
}

static void note_position(struct rollups_pass *pass)
{
	if (pass->trail_steps == 0)
		pass->trail_steps = TRAIL_STEPS_MIN;
	if (pass->steps++ % pass->trail_steps != 0)
		return;
	if (pass->trail_count == ROLLUPS_TRAIL_MAX) {
		for (size_t i = 0; i < ROLLUPS_TRAIL_MAX / 2; i++)
			pass->trail[i] = pass->trail[2 * i];
		pass->trail_count = ROLLUPS_TRAIL_MAX / 2;
		pass->trail_steps *= 2;
	}
	pass->trail[pass->trail_count++] = pass->next;
}

/* Reads the next range of the trail; the last one has no end. */
static enum err read_again(struct rollups_pass *pass, struct pg_conn *conn)
{
	size_t i = pass->trail_read;
	struct rollups_position end = { .workspace_id = INT64_MAX };
	if (i + 1 < pass->trail_count)
		end = pass->trail[i + 1];
	struct pg_params params = { 0 };
	add_position(&params, &pass->trail[i]);
	add_position(&params, &end);
	enum err err = pg_conn_query_once(conn, read_again_sql, &params, NULL);
	if (err == OK)
		pass->is_over = ++pass->trail_read >= pass->trail_count;
	return err;
}

/* How many of the due deltas are taken: the last one may exceed the bound. */
static size_t choose(const struct pg_result *due, int64_t deltas_max)
{
	int64_t entries = 0;
	size_t count = 0;
	for (; count < pg_result_count(due) && (int64_t)count < deltas_max &&
	       entries < ROLLUPS_FOLD_ENTRIES_MAX;
	     count++) {
		bool is_first = count == 0;
		bool is_other_hour =
			is_first ||
			pg_result_int(due, count, WORKSPACE) !=
				pg_result_int(due, count - 1, WORKSPACE) ||
			pg_result_time(due, count, HOUR) != pg_result_time(due, count - 1, HOUR);
		bool is_other_link = is_other_hour || pg_result_int(due, count, LINK) !=
		                                              pg_result_int(due, count - 1, LINK);
		entries += pg_result_int(due, count, ENTRIES);
		if (is_other_link)
			entries += pg_result_int(due, count, OF_LINK_HOUR) +
			           pg_result_int(due, count, OF_LINK_DAY);
		if (is_other_hour)
			entries += pg_result_int(due, count, OF_WORKSPACE_HOUR) +
			           pg_result_int(due, count, OF_WORKSPACE_DAY);
	}
	return count;
}

static enum err take(struct pg_conn *conn, const struct pg_result *due, size_t count,
                     struct pg_result **taken)
{
	struct strbuf tids;
	struct pg_params params = { 0 };
	strbuf_init(&tids, 2 + count * TID_BYTES_MAX);
	for (size_t i = 0; i < count; i++)
		strbuf_add_format(&tids, "%c\"%s\"", i == 0 ? '{' : ',',
		                  pg_result_text(due, i, TID));
	strbuf_add_char(&tids, '}');
	pg_params_text(&params, tids.data);
	enum err err = strbuf_status(&tids);
	if (err == OK)
		err = pg_conn_query(conn, take_sql, &params, taken);
	strbuf_clear(&tids);
	return err;
}

/* Where a delta counts. id 0: nowhere. */
static struct rollup_table_change change_of(const struct pg_result *taken, size_t row,
                                            enum rollup_table table)
{
	bool is_day = table == ROLLUP_TABLE_LINK_DAYS || table == ROLLUP_TABLE_WORKSPACE_DAYS;
	bool is_link = table == ROLLUP_TABLE_LINK_HOURS || table == ROLLUP_TABLE_LINK_DAYS;
	int64_t hour_us = pg_result_time(taken, row, TAKEN_HOUR);
	struct rollup_table_change change = {
		.id = is_day || pg_result_bool(taken, row, TAKEN_HOUR_IS_KEPT)
		              ? pg_result_int(taken, row, is_link ? TAKEN_LINK : TAKEN_WORKSPACE)
		              : 0,
		.start_us = is_day ? hour_us - hour_us % CLOCK_US_PER_DAY : hour_us,
	};
	for (int list = 0; list < ROLLUP_TABLE_LISTS; list++)
		change.lists[list] = pg_result_text(taken, row, TAKEN_LISTS + list);
	return change;
}

static enum err add(struct rollups_pass *pass, struct pg_conn *conn, const struct pg_result *taken)
{
	struct rollup_table_change *changes = mem_array(pg_result_count(taken), sizeof(*changes));
	enum err err = OK;
	for (enum rollup_table table = 0; err == OK && table < ROLLUP_TABLES; table++) {
		size_t count = 0;
		for (size_t row = 0; row < pg_result_count(taken); row++) {
			changes[count] = change_of(taken, row, table);
			count += changes[count].id != 0;
		}
		err = rollup_table_add(conn, table, changes, count, &pass->rows_written,
		                       &pass->entries_written);
	}
	free(changes);
	return err;
}

/* A link whose deltas are on both sides of the end of a page is looked at again as a whole. */
static enum err find_next_page(struct rollups_pass *pass, struct pg_conn *conn,
                               const struct pg_params *position)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query_once(conn, find_next_page_sql, position, &rows);
	if (err == OK && pg_result_count(rows) > 0)
		pass->next = position_of(rows, 0);
	else
		pass->is_reading_again = err == OK;
	pg_result_free(rows);
	return err;
}

enum err rollups_fold(struct rollups_pass *pass, struct pg_conn *conn, int64_t now_us,
                      int64_t deltas_max, int64_t *folded)
{
	if (pass->is_reading_again) {
		*folded = 0;
		return read_again(pass, conn);
	}
	struct rollups_pass next = *pass;
	struct pg_params position = { 0 };
	struct pg_params params = { 0 };
	struct pg_result *due = NULL;
	struct pg_result *taken = NULL;
	add_position(&position, &pass->next);
	add_position(&params, &pass->next);
	pg_params_time(&params, now_us);
	pg_params_int(&params, deltas_max + 1);
	enum err err = pg_conn_query(conn, commit_sql, NULL, NULL);
	note_position(&next);
	if (err == OK)
		err = pg_conn_query_once(conn, find_sql, &params, &due);
	size_t count = err == OK ? choose(due, deltas_max) : 0;
	if (err == OK && count < pg_result_count(due))
		next.next = position_of(due, count);
	else if (err == OK)
		err = find_next_page(&next, conn, &position);
	if (err == OK && count > 0)
		err = take(conn, due, count, &taken);
	if (err == OK && pg_result_count(taken) > 0)
		err = add(&next, conn, taken);
	if (err == OK) {
		*folded = (int64_t)pg_result_count(taken);
		next.deltas += *folded;
		/* All deltas of a page are of one link and locked by a purge. */
		next.is_reading_again |= *folded == 0 && is_same(&next.next, &pass->next);
		*pass = next;
	}
	pg_result_free(due);
	pg_result_free(taken);
	return err;
}

/* --- the task --- */

static enum err fold_some(const struct run *run, int64_t *changed)
{
	return rollups_fold(run->ctx, run->conn, clock_now_us(run->clock), ROLLUPS_FOLD_DELTAS_MAX,
	                    changed);
}

/* Ends when all deltas were looked at. A step that folds nothing may have more after it. */
static enum err fold_all(struct run *run, int64_t *changed)
{
	struct rollups_pass pass = { 0 };
	enum err err = OK;
	run->ctx = &pass;
	while (err == OK && !pass.is_over && !run->is_interrupted) {
		if (shutdown_requested(run->shutdown))
			run->is_interrupted = true;
		else
			err = run_batch(run, fold_some, changed);
	}
	run->ctx = NULL;
	return err;
}

static enum err move_first_hour(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	pg_params_day(&params, days_today(run) - (int32_t)run->config->rollup_hours_keep_days);
	*changed = 0;
	return pg_conn_query(
		run->conn,
		"UPDATE rollup_progress SET hours_since = $1::date WHERE hours_since < $1::date",
		&params, NULL);
}

/* One day later than hours_since says, because a reader may still rely on the previous one. */
#define DELETE_SQL(table)                                                                              \
	"DELETE FROM " table " WHERE ctid = ANY (ARRAY(SELECT ctid FROM " table                        \
	" WHERE hour < (SELECT (hours_since - 1)::timestamp AT TIME ZONE 'UTC' FROM rollup_progress) " \
	"ORDER BY hour LIMIT $1::bigint))"

enum err rollups_run(struct run *run, int64_t *changed)
{
	struct pg_params of_links = { 0 }, of_workspaces = { 0 };
	enum err err = fold_all(run, changed);
	if (err == OK && !run->is_interrupted)
		err = days_check_skew(run);
	if (err == OK && !run->is_interrupted)
		err = run_batch(run, move_first_hour, changed);
	if (err == OK && !run->is_interrupted)
		err = run_delete(run, DELETE_SQL("rollup_hour"), &of_links, changed);
	if (err == OK && !run->is_interrupted)
		err = run_delete(run, DELETE_SQL("rollup_workspace_hour"), &of_workspaces, changed);
	return err;
}
