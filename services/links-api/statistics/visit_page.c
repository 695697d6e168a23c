#include "services/links-api/statistics/visit_page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/base/number.h"
#include "lib/base/timestamp.h"
#include "services/links-api/statistics/csv_cell.h"
#include "services/links-api/statistics/visit_sql.h"

/* Reads so many days first, then a window that is larger by this factor. */
#define FIRST_DAYS 2
#define DAYS_FACTOR 8
/* Of a workspace: the visits that a statement looks at, and the statements of a page without any. */
#define SEEN_MAX 20000
#define EMPTY_MAX 10
/* The end of the year 9999. */
#define TIME_MAX_US INT64_C(253402300799999999)

enum kind { TEXT, INT, REAL, BOOL, TIME, CURSOR };
enum { COLUMN_ID, COLUMN_OCCURRED_AT, COLUMNS = 28 };

struct column {
	const char *name;
	const char *sql;
	enum kind kind;
};

static const struct column columns[COLUMNS] = {
	[COLUMN_ID] = { "event_id", "event_id", TEXT },
	[COLUMN_OCCURRED_AT] = { "occurred_at", "occurred_at", TIME },
	{ "country", "country", TEXT },
	{ "region", "region", TEXT },
	{ "city", "city", TEXT },
	{ "referrer_host", "referrer_host", TEXT },
	{ "referrer_source", "referrer_source", TEXT },
	{ "browser", "browser", TEXT },
	{ "browser_version", "browser_version", TEXT },
	{ "os", "os", TEXT },
	{ "os_version", "os_version", TEXT },
	{ "device", "device", TEXT },
	{ "language", "language", TEXT },
	{ "utm_source", "utm_source", TEXT },
	{ "utm_medium", "utm_medium", TEXT },
	{ "utm_campaign", "utm_campaign", TEXT },
	{ "is_bot", "is_bot", BOOL },
	{ "bot_reason", "bot_reason", TEXT },
	{ "is_unique", "is_unique", BOOL },
	{ "slug", "slug", TEXT },
	{ "status", "status", INT },
	{ "latency_ms", "latency_us / 1000.0::float8", REAL },
	{ "link_id", "link_id", INT },
	{ "cursor", "''", CURSOR },
	{ "rule", "rule", TEXT },
	{ "variant", "variant", TEXT },
	{ "alias", "alias", TEXT },
	{ "is_scan", "scan <> ''", BOOL },
};

static void add_traffic(struct visit_sql *sql, enum visit_filter_traffic traffic)
{
	if (traffic == VISIT_FILTER_HUMANS)
		visit_sql_add(sql, " AND NOT is_bot");
	else if (traffic == VISIT_FILTER_BOTS)
		visit_sql_add(sql, " AND is_bot");
}

/* Compares the time alone as well, because the index covers it. */
static void add_cursor(struct visit_sql *sql, const struct visit_page_cursor *after,
                       bool is_ascending)
{
	if (after->event_id[0] == '\0')
		return;
	const char *sign = is_ascending ? ">" : "<";
	int time = visit_sql_time(sql, after->occurred_at_us);
	int id = visit_sql_text(sql, after->event_id);
	visit_sql_add(
		sql,
		" AND occurred_at %s= $%d::timestamptz AND (occurred_at %s $%d::timestamptz OR event_id %s $%d::uuid)",
		sign, time, sign, time, sign, id);
}

static void add_columns(struct visit_sql *sql)
{
	for (size_t i = 0; i < COLUMNS; i++)
		visit_sql_add(sql, "%s%s", i == 0 ? "SELECT " : ", ", columns[i].sql);
}

static enum err run(struct visit_sql *sql, struct pg_conn *conn, struct pg_result **rows)
{
	enum err err = visit_sql_run(sql, conn, rows);
	visit_sql_clear(sql);
	return err;
}

/* --- of a link, newest first --- */

static enum err read_link_span(struct pg_conn *conn, const struct visit_page_query *query,
                               struct statistics_span span, struct pg_result **rows)
{
	struct visit_sql sql;
	visit_sql_init(&sql);
	add_columns(&sql);
	char condition[64];
	snprintf(condition, sizeof(condition), "link_id = $%d::bigint",
	         visit_sql_int(&sql, query->link_id));
	visit_sql_add_log(&sql, condition, span, query->filter);
	add_traffic(&sql, query->filter->traffic);
	add_cursor(&sql, &query->after, false);
	int limit = visit_sql_int(&sql, (int64_t)query->limit);
	visit_sql_add(&sql, " ORDER BY occurred_at DESC, event_id DESC LIMIT $%d::bigint", limit);
	return run(&sql, conn, rows);
}

static enum err read_link(struct pg_conn *conn, const struct visit_page_query *query,
                          struct pg_result **rows)
{
	struct statistics_span span = query->span;
	if (query->after.event_id[0] != '\0' && query->after.occurred_at_us < span.to_us)
		span.to_us = query->after.occurred_at_us + 1;
	int64_t days = FIRST_DAYS;
	for (;;) {
		struct statistics_span window = span;
		if (span.to_us - span.from_us > days * CLOCK_US_PER_DAY)
			window.from_us = span.to_us - days * CLOCK_US_PER_DAY;
		struct pg_result *found = NULL;
		enum err err = read_link_span(conn, query, window, &found);
		if (err != OK)
			return err;
		if (window.from_us <= span.from_us || pg_result_count(found) == query->limit) {
			*rows = found;
			return OK;
		}
		pg_result_free(found);
		days *= DAYS_FACTOR;
	}
}

/* --- of a workspace, oldest first --- */

/*
 * The UTC days on which a workspace was visited, so that no statement plans the partitions of others:
 * those that are folded, and all from the first one on that is not.
 */
struct visited_days {
	/* An SQL array; owned. */
	char *folded;
	char unfolded_from[16];
};

static enum err find_days(struct pg_conn *conn, const struct visit_page_query *query,
                          struct visited_days *out)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, query->workspace_id);
	pg_params_day(&params, clock_utc_day(query->span.from_us));
	pg_params_day(&params, clock_utc_day(query->span.to_us));
	enum err err = pg_conn_query(
		conn,
		"SELECT coalesce((SELECT array_agg(day) FROM rollup_workspace_day "
		"WHERE workspace_id = $1 AND day BETWEEN $2::date AND $3::date), '{}')::text, "
		"coalesce((SELECT min(hour) AT TIME ZONE 'UTC' FROM rollup_delta "
		"WHERE workspace_id = $1), 'infinity')::date::text",
		&params, &rows);
	if (err == OK) {
		out->folded = mem_text(pg_result_text(rows, 0, 0));
		snprintf(out->unfolded_from, sizeof(out->unfolded_from), "%s",
		         pg_result_text(rows, 0, 1));
	}
	pg_result_free(rows);
	return err;
}

/* All visits of the workspace in the window after a position, in order: what a filter chooses from. */
static void add_seen(struct visit_sql *sql, const struct visit_page_query *query,
                     const struct visited_days *days, const struct visit_page_cursor *after,
                     struct statistics_span window)
{
	static const struct visit_filter everything = { .traffic = VISIT_FILTER_ALL };
	char condition[64];
	snprintf(condition, sizeof(condition), "workspace_id = $%d::bigint AND workspace_id <> 0",
	         visit_sql_int(sql, query->workspace_id)); /* as its index */
	visit_sql_add_log(sql, condition, window, &everything);
	int folded = visit_sql_text(sql, days->folded);
	int unfolded = visit_sql_text(sql, days->unfolded_from);
	visit_sql_add(sql, " AND (day = ANY ($%d::date[]) OR day >= $%d::date)", folded, unfolded);
	add_cursor(sql, after, true);
	visit_sql_add(sql, " ORDER BY occurred_at, event_id");
}

static enum err read_window(struct pg_conn *conn, const struct visit_page_query *query,
                            const struct visited_days *days, const struct visit_page_cursor *after,
                            struct statistics_span window, struct pg_result **rows)
{
	struct visit_sql sql;
	visit_sql_init(&sql);
	add_columns(&sql);
	visit_sql_add(&sql, " FROM (SELECT *");
	add_seen(&sql, query, days, after, window);
	visit_sql_add(&sql, " LIMIT %d) AS seen WHERE true", SEEN_MAX);
	visit_sql_add_terms(&sql, query->filter);
	add_traffic(&sql, query->filter->traffic);
	if (query->link_ids)
		visit_sql_add(&sql, " AND link_id = ANY ((SELECT $%d::bigint[])::bigint[])",
		              visit_sql_column(&sql, query->link_ids));
	int limit = visit_sql_int(&sql, (int64_t)query->limit);
	visit_sql_add(&sql, " ORDER BY occurred_at, event_id LIMIT $%d::bigint", limit);
	return run(&sql, conn, rows);
}

/* The last visit that read_window looked at, if the window has more; otherwise the window's end. */
static enum err find_seen_end(struct pg_conn *conn, const struct visit_page_query *query,
                              const struct visited_days *days,
                              const struct visit_page_cursor *after, struct statistics_span window,
                              struct visit_page_cursor *out)
{
	struct visit_sql sql;
	struct pg_result *rows = NULL;
	visit_sql_init(&sql);
	visit_sql_add(&sql, "SELECT event_id, occurred_at");
	add_seen(&sql, query, days, after, window);
	visit_sql_add(&sql, " OFFSET %d LIMIT 1", SEEN_MAX - 1);
	enum err err = run(&sql, conn, &rows);
	if (err == OK)
		*out = pg_result_count(rows) > 0
		               ? visit_page_cursor_of(rows, 0)
		               : (struct visit_page_cursor){ window.to_us, VISIT_PAGE_NO_ID };
	pg_result_free(rows);
	return err;
}

static enum err read_days(struct pg_conn *conn, const struct visit_page_query *query,
                          const struct visited_days *visited, struct pg_result **rows,
                          struct visit_page_end *end)
{
	struct statistics_span span = query->span;
	struct visit_page_cursor after = query->after;
	int64_t days = FIRST_DAYS;
	for (int empty = 0;;) {
		if (after.event_id[0] != '\0' && after.occurred_at_us > span.from_us)
			span.from_us = after.occurred_at_us;
		struct statistics_span window = span;
		if (span.to_us - span.from_us > days * CLOCK_US_PER_DAY)
			window.to_us = span.from_us + days * CLOCK_US_PER_DAY;
		struct pg_result *found = NULL;
		*end = (struct visit_page_end){ .is_last = false };
		enum err err = read_window(conn, query, visited, &after, window, &found);
		size_t count = err == OK ? pg_result_count(found) : 0;
		bool is_full = err == OK && count == query->limit;
		if (is_full)
			end->next = visit_page_cursor_of(found, count - 1);
		else if (err == OK)
			err = find_seen_end(conn, query, visited, &after, window, &end->next);
		bool is_window_seen =
			err == OK && !is_full && strcmp(end->next.event_id, VISIT_PAGE_NO_ID) == 0;
		end->is_last = is_window_seen && window.to_us >= span.to_us;
		bool is_page = is_full || end->is_last ||
		               (!is_window_seen && (count > 0 || ++empty == EMPTY_MAX));
		if (err == OK && is_page) {
			*rows = found;
			return OK;
		}
		pg_result_free(found);
		if (err != OK)
			return err;
		if (is_window_seen)
			days *= DAYS_FACTOR;
		else
			after = end->next;
	}
}

static enum err read_workspace(struct pg_conn *conn, const struct visit_page_query *query,
                               struct pg_result **rows, struct visit_page_end *end)
{
	struct visited_days visited = { 0 };
	enum err err = find_days(conn, query, &visited);
	if (err == OK)
		err = read_days(conn, query, &visited, rows, end);
	free(visited.folded);
	return err;
}

enum err visit_page_read(struct pg_conn *conn, const struct visit_page_query *query,
                         struct pg_result **rows, struct visit_page_end *end)
{
	if (query->link_id == 0)
		return read_workspace(conn, query, rows, end);
	enum err err = read_link(conn, query, rows);
	size_t count = err == OK ? pg_result_count(*rows) : 0;
	*end = (struct visit_page_end){ .next = query->after, .is_last = count < query->limit };
	if (count > 0)
		end->next = visit_page_cursor_of(*rows, count - 1);
	return err;
}

struct visit_page_cursor visit_page_cursor_of(const struct pg_result *rows, size_t row)
{
	struct visit_page_cursor place = { .occurred_at_us =
		                                   pg_result_time(rows, row, COLUMN_OCCURRED_AT) };
	snprintf(place.event_id, sizeof(place.event_id), "%s",
	         pg_result_text(rows, row, COLUMN_ID));
	return place;
}

void visit_page_cursor_format(const struct visit_page_cursor *place,
                              char out[static VISIT_PAGE_CURSOR_SIZE])
{
	snprintf(out, VISIT_PAGE_CURSOR_SIZE, "%" PRId64 "_%s", place->occurred_at_us,
	         place->event_id);
}

static bool is_uuid(const char *text)
{
	static const char pattern[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	if (strlen(text) != sizeof(pattern) - 1)
		return false;
	for (size_t i = 0; i < sizeof(pattern) - 1; i++) {
		bool matches = pattern[i] == '-' ? text[i] == '-'
		                                 : strchr("0123456789abcdef", text[i]) != NULL;
		if (!matches)
			return false;
	}
	return true;
}

enum err visit_page_cursor_parse(const char *text, struct visit_page_cursor *out)
{
	char time[VISIT_PAGE_CURSOR_SIZE];
	struct visit_page_cursor place = { 0 };
	const char *id = strchr(text, '_');
	size_t time_len = id ? (size_t)(id - text) : 0;
	if (time_len == 0 || time_len >= sizeof(time) || !is_uuid(id + 1))
		return ERR_INVALID;
	memcpy(time, text, time_len);
	time[time_len] = '\0';
	if (number_parse(time, 0, TIME_MAX_US, &place.occurred_at_us) != OK)
		return ERR_INVALID;
	memcpy(place.event_id, id + 1, VISIT_PAGE_ID_SIZE);
	*out = place;
	return OK;
}

/* --- its forms --- */

static void format_cursor_of(const struct pg_result *rows, size_t row,
                             char out[static VISIT_PAGE_CURSOR_SIZE])
{
	struct visit_page_cursor place = visit_page_cursor_of(rows, row);
	visit_page_cursor_format(&place, out);
}

static void set(struct json *visit, const struct column *column, const struct pg_result *rows,
                size_t row, int index)
{
	char cursor[VISIT_PAGE_CURSOR_SIZE];
	switch (column->kind) {
	case TEXT:
		json_set_text(visit, column->name, pg_result_text(rows, row, index));
		break;
	case INT:
		json_set_int(visit, column->name, pg_result_int(rows, row, index));
		break;
	case REAL:
		json_set_real(visit, column->name, pg_result_double(rows, row, index));
		break;
	case BOOL:
		json_set_bool(visit, column->name, pg_result_bool(rows, row, index));
		break;
	case TIME:
		json_set_time(visit, column->name, pg_result_time(rows, row, index));
		break;
	case CURSOR:
		format_cursor_of(rows, row, cursor);
		json_set_text(visit, column->name, cursor);
		break;
	}
}

struct json *visit_page_object(const struct pg_result *rows, size_t row)
{
	struct json *visit = json_new_object();
	for (int i = 0; i < COLUMNS; i++)
		set(visit, &columns[i], rows, row, i);
	return visit;
}

void visit_page_add_json(struct strbuf *out, const struct pg_result *rows, size_t row)
{
	struct json *visit = visit_page_object(rows, row);
	json_write(visit, out);
	json_free(visit);
	strbuf_add_char(out, '\n');
}

void visit_page_add_csv_header(struct strbuf *out)
{
	for (size_t i = 0; i < COLUMNS; i++)
		strbuf_add_format(out, "%s%s", i == 0 ? "" : ",", columns[i].name);
	strbuf_add_text(out, "\r\n");
}

static void add_csv_field(struct strbuf *out, enum kind kind, const struct pg_result *rows,
                          size_t row, int index)
{
	char number[NUMBER_TEXT_SIZE], time[TIMESTAMP_TEXT_SIZE], cursor[VISIT_PAGE_CURSOR_SIZE];
	switch (kind) {
	case TEXT:
		csv_cell_add(out, pg_result_text(rows, row, index));
		break;
	case INT:
		strbuf_add_text(out, pg_result_text(rows, row, index));
		break;
	case REAL:
		number_format(pg_result_double(rows, row, index), number);
		strbuf_add_text(out, number);
		break;
	case BOOL:
		strbuf_add_text(out, pg_result_bool(rows, row, index) ? "true" : "false");
		break;
	case TIME:
		timestamp_format_ms(pg_result_time(rows, row, index), time);
		strbuf_add_text(out, time);
		break;
	case CURSOR:
		format_cursor_of(rows, row, cursor);
		strbuf_add_text(out, cursor);
		break;
	}
}

void visit_page_add_csv(struct strbuf *out, const struct pg_result *rows, size_t row)
{
	for (int i = 0; i < COLUMNS; i++) {
		if (i > 0)
			strbuf_add_char(out, ',');
		add_csv_field(out, columns[i].kind, rows, row, i);
	}
	strbuf_add_text(out, "\r\n");
}
