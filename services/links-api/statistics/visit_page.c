#include "services/links-api/statistics/visit_page.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/number.h"
#include "services/links-api/statistics/visit_sql.h"

/* Reads the newest days first, then a window that is larger by this factor. */
#define FIRST_DAYS 2
#define DAYS_FACTOR 8
/* The end of the year 9999. */
#define TIME_MAX_US INT64_C(253402300799999999)

const struct visit_page_column visit_page_columns[VISIT_PAGE_COLUMNS] = {
	[VISIT_PAGE_COLUMN_ID] = { "event_id", "event_id", VISIT_PAGE_TEXT },
	[VISIT_PAGE_COLUMN_OCCURRED_AT] = { "occurred_at", "occurred_at", VISIT_PAGE_TIME },
	{ "country", "country", VISIT_PAGE_TEXT },
	{ "region", "region", VISIT_PAGE_TEXT },
	{ "city", "city", VISIT_PAGE_TEXT },
	{ "referrer_host", "referrer_host", VISIT_PAGE_TEXT },
	{ "referrer_source", "referrer_source", VISIT_PAGE_TEXT },
	{ "browser", "browser", VISIT_PAGE_TEXT },
	{ "browser_version", "browser_version", VISIT_PAGE_TEXT },
	{ "os", "os", VISIT_PAGE_TEXT },
	{ "os_version", "os_version", VISIT_PAGE_TEXT },
	{ "device", "device", VISIT_PAGE_TEXT },
	{ "language", "language", VISIT_PAGE_TEXT },
	{ "utm_source", "utm_source", VISIT_PAGE_TEXT },
	{ "utm_medium", "utm_medium", VISIT_PAGE_TEXT },
	{ "utm_campaign", "utm_campaign", VISIT_PAGE_TEXT },
	{ "is_bot", "is_bot", VISIT_PAGE_BOOL },
	{ "bot_reason", "bot_reason", VISIT_PAGE_TEXT },
	{ "is_unique", "is_unique", VISIT_PAGE_BOOL },
	{ "slug", "slug", VISIT_PAGE_TEXT },
	{ "status", "status", VISIT_PAGE_INT },
	{ "latency_ms", "latency_us / 1000.0::float8", VISIT_PAGE_REAL },
};

static void add_traffic(struct visit_sql *sql, enum visit_filter_traffic traffic)
{
	if (traffic == VISIT_FILTER_HUMANS)
		visit_sql_add(sql, " AND NOT is_bot");
	else if (traffic == VISIT_FILTER_BOTS)
		visit_sql_add(sql, " AND is_bot");
}

/* Compares the time alone as well, because the index covers it. */
static void add_cursor(struct visit_sql *sql, const struct visit_page_cursor *behind)
{
	if (behind->event_id[0] == '\0')
		return;
	int time = visit_sql_time(sql, behind->occurred_at_us);
	int id = visit_sql_text(sql, behind->event_id);
	visit_sql_add(
		sql,
		" AND occurred_at <= $%d::timestamptz AND (occurred_at < $%d::timestamptz OR event_id < $%d::uuid)",
		time, time, id);
}

static enum err read_span(struct pg_conn *conn, const struct visit_page_query *query,
                          struct statistics_span span, struct pg_result **rows)
{
	struct visit_sql sql;
	visit_sql_init(&sql);
	for (size_t i = 0; i < VISIT_PAGE_COLUMNS; i++)
		visit_sql_add(&sql, "%s%s", i == 0 ? "SELECT " : ", ", visit_page_columns[i].sql);
	char condition[64];
	snprintf(condition, sizeof(condition), "link_id = $%d::bigint",
	         visit_sql_int(&sql, query->link_id));
	visit_sql_add_log(&sql, condition, span, query->filter);
	add_traffic(&sql, query->filter->traffic);
	add_cursor(&sql, &query->after);
	int limit = visit_sql_int(&sql, (int64_t)query->limit);
	visit_sql_add(&sql, " ORDER BY occurred_at DESC, event_id DESC LIMIT $%d::bigint", limit);
	enum err err = visit_sql_run(&sql, conn, rows);
	visit_sql_clear(&sql);
	return err;
}

enum err visit_page_read(struct pg_conn *conn, const struct visit_page_query *query,
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
		enum err err = read_span(conn, query, window, &found);
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

struct visit_page_cursor visit_page_cursor_of(const struct pg_result *rows, size_t row)
{
	struct visit_page_cursor place = { .occurred_at_us = pg_result_time(
						   rows, row, VISIT_PAGE_COLUMN_OCCURRED_AT) };
	snprintf(place.event_id, sizeof(place.event_id), "%s",
	         pg_result_text(rows, row, VISIT_PAGE_COLUMN_ID));
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
