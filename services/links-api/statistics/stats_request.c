#include "services/links-api/statistics/stats_request.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/base/number.h"
#include "lib/base/timestamp.h"
#include "lib/links/link_store.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/query_params.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/share.h"
#include "services/links-api/lists/link_list_store.h"
#include "services/links-api/statistics/visit_sql.h"

/* Each id takes 12 bytes, after a head. */
#define LINK_IDS_BYTES_MAX (STATS_REQUEST_LINKS_MAX * 12 + 64)

struct reading {
	const struct stats_request_terms *terms;
	struct stats_request_params *out;
	struct http_problem_fields *wrong;
	struct query_pair pair;
	const char *value;
};

#define WRONG(reading, ...)                                                                        \
	http_problem_add_field((reading)->wrong, (reading)->pair.pointer, __VA_ARGS__)

/* --- one parameter each --- */

static bool is_date(const char *text)
{
	char midnight[TIMESTAMP_TEXT_SIZE];
	int64_t time_us;
	if (strlen(text) != strlen("2026-11-20"))
		return false;
	/* Rejects dates before 1970 and days that do not exist. */
	snprintf(midnight, sizeof(midnight), "%sT00:00:00Z", text);
	return timestamp_parse(midnight, &time_us) == OK;
}

static void read_end(struct reading *reading, struct stats_request_end *end)
{
	end->is_given = true;
	if (timestamp_parse(reading->value, &end->time_us) == OK)
		return;
	if (is_date(reading->value))
		snprintf(end->date, sizeof(end->date), "%s", reading->value);
	else if (strchr(reading->value, ' '))
		WRONG(reading, "time",
		      "contains a space; write the + of an offset as %%2B, as in "
		      "2026-11-20T08:00:00%%2B01:00");
	else
		WRONG(reading, "time",
		      "must be a time like 2026-11-20T08:00:00Z or a date like 2026-11-20");
}

static void read_from(struct reading *reading)
{
	read_end(reading, &reading->out->from);
}

static void read_to(struct reading *reading)
{
	read_end(reading, &reading->out->to);
}

static void read_zone(struct reading *reading)
{
	size_t len = strlen(reading->value);
	if (len == 0 || len >= sizeof(reading->out->zone))
		WRONG(reading, "time-zone", "must be an IANA time zone like Europe/Berlin");
	else
		memcpy(reading->out->zone, reading->value, len + 1);
}

/* The position of the value among names, which end with NULL, from 1 on. 0: it is none of them. */
static unsigned choice(struct reading *reading, const char *const *names, const char *detail)
{
	for (unsigned i = 0; names[i]; i++)
		if (strcmp(reading->value, names[i]) == 0)
			return i + 1;
	WRONG(reading, "choice", "%s", detail);
	return 0;
}

static void read_interval(struct reading *reading)
{
	static const char *const names[] = { "hour", "day", "week", "month", NULL };
	unsigned position = choice(reading, names, "must be hour, day, week or month");
	reading->out->has_interval = true;
	if (position > 0)
		reading->out->interval = (enum local_calendar_interval)(position - 1);
}

static void read_limit(struct reading *reading)
{
	reading->out->has_limit = true;
	if (number_parse(reading->value, 1, reading->terms->limit_max, &reading->out->limit) != OK)
		WRONG(reading, "number", "must be a number from 1 to %" PRId64,
		      reading->terms->limit_max);
}

static void read_bots(struct reading *reading)
{
	static const char *const names[] = { "include", "only", NULL };
	reading->out->filter.traffic =
		(enum visit_filter_traffic)choice(reading, names, "must be include or only");
}

static void read_cursor(struct reading *reading)
{
	if (visit_page_cursor_parse(reading->value, &reading->out->after) != OK)
		WRONG(reading, "cursor", "invalid cursor; use next_cursor of an earlier response");
}

static void read_format(struct reading *reading)
{
	static const char *const names[] = { "json", "csv", "ndjson", NULL };
	reading->out->format =
		(enum stats_request_format)choice(reading, names, "must be json, csv or ndjson");
}

static void read_compare(struct reading *reading)
{
	static const char *const names[] = { "previous", "month", "year", NULL };
	reading->out->compare = (enum stats_request_compare)choice(
		reading, names, "must be previous, month or year");
}

static void read_tag(struct reading *reading)
{
	if (member_is_line(reading->value, 1, LINK_TAG_CHARS_MAX, reading->pair.pointer,
	                   reading->wrong))
		snprintf(reading->out->tag, sizeof(reading->out->tag), "%s", reading->value);
}

static void read_links_filter(struct reading *reading)
{
	char reason[NQL_REASON_SIZE];
	reading->out->has_links_filter = true;
	if (nql_parse(reading->value, &reading->out->links_filter, reason) != OK)
		WRONG(reading, "filter", "%s", reason);
}

static const struct parameter {
	const char *name;
	/* 0 = all endpoints accept it. */
	unsigned part;
	void (*read)(struct reading *reading);
} parameters[] = {
	{ "from", 0, read_from },
	{ "to", 0, read_to },
	{ "tz", 0, read_zone },
	{ "interval", STATS_REQUEST_INTERVAL, read_interval },
	{ "limit", STATS_REQUEST_LIMIT, read_limit },
	{ "bots", STATS_REQUEST_BOTS, read_bots },
	{ "cursor", STATS_REQUEST_CURSOR, read_cursor },
	{ "format", STATS_REQUEST_FORMAT, read_format },
	{ "compare", STATS_REQUEST_COMPARE, read_compare },
	{ "tag", STATS_REQUEST_LINKS, read_tag },
	{ "filter", STATS_REQUEST_LINKS, read_links_filter },
};
#define PARAMETER_COUNT ARRAY_SIZE(parameters)

/* --- all of them --- */

/* Only countries are checked: an invalid one would never match anything. */
static bool is_country(const char *value)
{
	return value[0] == '\0' || (strlen(value) == 2 && isalpha((unsigned char)value[0]) &&
	                            isalpha((unsigned char)value[1]));
}

static void read_term(struct reading *reading, enum visit_dimension dimension, bool is_not)
{
	char country[] = "XX";
	const char *value = reading->value;
	if (dimension == VISIT_DIMENSION_COUNTRY && !is_country(value)) {
		WRONG(reading, "choice",
		      "must be a two-letter code like DE, or empty for unknown; write several "
		      "countries as country=DE&country=AT");
		return;
	}
	if (dimension == VISIT_DIMENSION_COUNTRY && value[0] != '\0') {
		country[0] = (char)toupper((unsigned char)value[0]);
		country[1] = (char)toupper((unsigned char)value[1]);
		value = country;
	}
	struct visit_filter *filter = &reading->out->filter;
	size_t len = strlen(value);
	if (filter->count == VISIT_FILTER_TERMS_MAX) {
		WRONG(reading, "too-many", "too many filters; at most %d are allowed",
		      VISIT_FILTER_TERMS_MAX);
	} else if (len >= VISIT_FILTER_VALUE_SIZE) {
		WRONG(reading, "too-many-bytes", "must have at most %d bytes",
		      VISIT_FILTER_VALUE_SIZE - 1);
	} else {
		struct visit_filter_term *term = &filter->terms[filter->count++];
		term->dimension = dimension;
		term->is_not = is_not;
		memcpy(term->value, value, len + 1);
	}
}

/* False: the name is not a filter that this endpoint accepts. */
static bool read_filter(struct reading *reading)
{
	const char *name = reading->pair.name;
	bool is_given_before = false; /* filters may occur several times */
	static const char not_prefix[] = "not_";
	enum visit_dimension dimension;
	bool is_not = strncmp(name, not_prefix, strlen(not_prefix)) == 0;
	if (!(reading->terms->parts & STATS_REQUEST_FILTERS) ||
	    visit_dimension_parse(is_not ? name + strlen(not_prefix) : name, &dimension) != OK)
		return false;
	if (query_params_accept(&reading->pair, &is_given_before, reading->wrong))
		read_term(reading, dimension, is_not);
	return true;
}

static void read_pair(struct reading *reading, bool seen[static PARAMETER_COUNT])
{
	for (size_t i = 0; i < PARAMETER_COUNT; i++) {
		const struct parameter *parameter = &parameters[i];
		if (strcmp(reading->pair.name, parameter->name) != 0)
			continue;
		if (parameter->part != 0 && !(reading->terms->parts & parameter->part))
			break;
		if (query_params_accept(&reading->pair, &seen[i], reading->wrong))
			parameter->read(reading);
		return;
	}
	if (!read_filter(reading))
		query_params_refuse_unknown(&reading->pair, reading->wrong);
}

enum err stats_request_read_params(const char *query, const struct stats_request_terms *terms,
                                   struct stats_request_params *out,
                                   struct http_problem_fields *wrong)
{
	bool seen[PARAMETER_COUNT] = { false };
	*out = (struct stats_request_params){ .zone = "UTC",
		                              .interval = terms->parts & STATS_REQUEST_LAST_DAY
		                                                  ? LOCAL_CALENDAR_HOUR
		                                                  : LOCAL_CALENDAR_DAY,
		                              .limit = terms->limit_default };
	struct reading reading = { .terms = terms, .out = out, .wrong = wrong };
	reading.value = reading.pair.value;
	while (query_params_next(&query, &reading.pair))
		read_pair(&reading, seen);
	return wrong->count > 0 ? ERR_INVALID : OK;
}

/* --- the request --- */

enum err stats_request_read(struct stats_request *stats, struct request *r,
                            const struct stats_request_terms *terms)
{
	*stats = (struct stats_request){ .request = r, .now_us = request_now_us(r) };
	stats->question.filter = &stats->params.filter;
	enum err err = stats_request_read_params(http_exchange_query(r->exchange), terms,
	                                         &stats->params, &stats->wrong);
	stats->needs_log = stats->params.filter.count > 0;
	return err;
}

void stats_request_clear(struct stats_request *stats)
{
	if (stats->question.link_ids)
		sql_column_clear(&stats->link_ids);
	stats->question.link_ids = NULL;
}

enum err stats_request_find_link(struct stats_request *stats, struct pg_conn *conn)
{
	struct link link;
	stats->question.link_id = request_path_id(stats->request);
	enum err err = link_store_get(conn, stats->question.link_id,
	                              request_workspaces(stats->request), &link);
	err = request_check_link(stats->request, err, &link);
	stats->is_link_deleted = err == OK && link.entry.state == LINK_STATE_DELETED;
	if (stats->is_link_deleted)
		err = ERR_NOT_FOUND;
	stats->has_no_link = err == ERR_NOT_FOUND;
	return err;
}

static void init_link_ids(struct stats_request *stats)
{
	sql_column_init(&stats->link_ids, SQL_COLUMN_INT8, LINK_IDS_BYTES_MAX);
	stats->question.link_ids = &stats->link_ids;
}

static enum err find_links_of(struct stats_request *stats, struct pg_conn *conn,
                              int64_t workspace_id, const char tag[static LINK_TAG_SIZE])
{
	const struct stats_request_params *params = &stats->params;
	const char *key_tags = stats->request->tags;
	if (tag[0] == '\0' && !params->has_links_filter && !key_tags) {
		stats->question.workspace_id = workspace_id;
		return link_list_store_count(conn, workspace_id, &stats->link_count);
	}
	struct link_list_params *links = mem_zero(sizeof(*links));
	links->workspace_id = workspace_id;
	memcpy(links->tag, tag, sizeof(links->tag));
	links->key_tags = key_tags;
	links->has_filter = params->has_links_filter;
	links->filter = params->links_filter;
	init_link_ids(stats);
	enum err err = link_list_store_ids(conn, links, STATS_REQUEST_LINKS_MAX, &stats->link_ids,
	                                   &stats->has_too_many_links);
	stats->link_count = stats->link_ids.count;
	free(links);
	return err;
}

enum err stats_request_find_links(struct stats_request *stats, struct pg_conn *conn)
{
	return find_links_of(stats, conn, stats->request->workspace_id, stats->params.tag);
}

/* Authentication has found the share's link: it is not deleted. */
enum err stats_request_find_shared_links(struct stats_request *stats, struct pg_conn *conn)
{
	const struct share *share = stats->request->share;
	if (share->link_id == 0)
		return find_links_of(stats, conn, share->workspace_id, share->tag);
	init_link_ids(stats);
	sql_column_add_int(&stats->link_ids, share->link_id);
	stats->link_count = 1;
	return OK;
}

/* --- the time range --- */

/* How many intervals a range without from covers. */
static const int64_t default_intervals[] = {
	[LOCAL_CALENDAR_HOUR] = 24,
	[LOCAL_CALENDAR_DAY] = 30,
	[LOCAL_CALENDAR_WEEK] = 12,
	[LOCAL_CALENDAR_MONTH] = 12,
};

/* A date is its first moment in the time zone. */
static enum err resolve_end(struct pg_conn *conn, const struct stats_request_params *params,
                            const struct stats_request_end *end, int64_t *time_us)
{
	if (end->date[0] != '\0')
		return local_calendar_date_start(conn, end->date, params->zone, time_us);
	*time_us = end->time_us;
	return OK;
}

static enum err resolve_range(struct stats_request *stats, struct pg_conn *conn,
                              struct statistics_span *out)
{
	const struct stats_request_params *params = &stats->params;
	int64_t hours = stats->now_us / CLOCK_US_PER_HOUR + 1;
	struct statistics_span span = { .to_us = hours * CLOCK_US_PER_HOUR };
	enum err err = time_zones_check(stats->request->api->zones, conn, params->zone);
	if (err == ERR_NOT_FOUND) {
		http_problem_add_field(&stats->wrong, "/tz", "time-zone",
		                       "must be an IANA time zone like Europe/Berlin");
		return ERR_INVALID;
	}
	if (err == OK && params->to.is_given)
		err = resolve_end(conn, params, &params->to, &span.to_us);
	/* A range cannot start before 1970. */
	if (err == OK && span.to_us > 0)
		err = params->from.is_given
		              ? resolve_end(conn, params, &params->from, &span.from_us)
		              : local_calendar_subtract(
					conn, span.to_us, params->zone, params->interval,
					default_intervals[params->interval], &span.from_us);
	if (err != OK)
		return err;
	if (statistics_range_is_empty(&span)) {
		bool has_end = params->to.is_given;
		http_problem_add_field(&stats->wrong, has_end ? "/to" : "/from", "range", "%s",
		                       has_end ? "must be later than from" : "is in the future");
		return ERR_INVALID;
	}
	*out = span;
	return OK;
}

static enum err clamp_to_log(struct stats_request *stats, struct pg_conn *conn)
{
	struct statistics_span *asked = &stats->question.requested;
	int64_t since_us = 0;
	enum err err = visit_sql_log_since(conn, &since_us);
	if (err == OK && asked->from_us < since_us && since_us < asked->to_us)
		asked->from_us = since_us;
	return err;
}

enum err stats_request_find_range(struct stats_request *stats, struct pg_conn *conn)
{
	enum err err = resolve_range(stats, conn, &stats->question.requested);
	if (err == OK && stats->needs_log && !stats->params.from.is_given)
		err = clamp_to_log(stats, conn);
	stats->is_ready = err == OK;
	return err;
}

/* --- the earlier period --- */

/* Only what has passed of a range that has not ended can be compared. */
static struct statistics_span passed(const struct stats_request *stats)
{
	struct statistics_span span = stats->question.requested;
	if (stats->now_us < span.to_us)
		span.to_us = stats->now_us > span.from_us ? stats->now_us : span.from_us;
	return span;
}

static enum err move(struct stats_request *stats, struct pg_conn *conn,
                     enum local_calendar_interval interval, int64_t back)
{
	return local_calendar_move_back(conn, passed(stats), stats->params.zone, interval, back,
	                                &stats->earlier.requested);
}

/* So far that the whole range, with what has not passed of it, ends before it begins. */
static enum err move_before(struct stats_request *stats, struct pg_conn *conn)
{
	const struct statistics_span span = stats->question.requested;
	enum local_calendar_interval interval = stats->params.interval;
	int64_t back = 0;
	if (!stats->params.has_interval)
		interval = span.to_us - span.from_us < CLOCK_US_PER_DAY ? LOCAL_CALENDAR_HOUR
		                                                        : LOCAL_CALENDAR_DAY;
	enum err err = local_calendar_count_back(conn, span, stats->params.zone, interval, &back);
	return err == OK ? move(stats, conn, interval, back) : err;
}

enum err stats_request_find_earlier(struct stats_request *stats, struct pg_conn *conn)
{
	enum stats_request_compare compare = stats->params.compare;
	stats->earlier = stats->question;
	enum err err = compare == STATS_REQUEST_COMPARE_PREVIOUS
	                       ? move_before(stats, conn)
	                       : move(stats, conn, LOCAL_CALENDAR_MONTH,
	                              compare == STATS_REQUEST_COMPARE_YEAR ? 12 : 1);
	if (err == ERR_INVALID)
		http_problem_add_field(&stats->wrong, "/compare", "range",
		                       "the earlier period begins before 1970");
	return err;
}

/* --- errors --- */

static enum http_progress answer_beyond_log(struct stats_request *stats)
{
	char since[TIMESTAMP_TEXT_SIZE];
	timestamp_format_ms(stats->question.reach.log_since_us, since);
	if (stats->params.from.is_given)
		http_problem_add_field(&stats->wrong, "/from", "beyond-log",
		                       "is before %s, the start of the visit log", since);
	else
		http_problem_add_field(&stats->wrong, "/to", "beyond-log",
		                       "must be after %s, the start of the visit log", since);
	return http_problem_respond(
		stats->request->exchange, 422, "beyond-log",
		"Counts with a filter, by referrer_source or by bot_reason need the visit log, "
		"which does not reach back that far.",
		&stats->wrong);
}

enum http_progress stats_request_answer_error(struct stats_request *stats, enum err err)
{
	struct request *r = stats->request;
	if (stats->wrong.count > 0)
		return response_invalid_fields(r, &stats->wrong);
	if (stats->has_no_link)
		return response_link_not_found(r, stats->is_link_deleted);
	if (stats->has_too_many_links)
		return response_problem(r, 422, "too-many-links",
		                        "More than 100,000 links match. Use tag or filter.");
	if (err == ERR_NOT_FOUND && stats->is_ready)
		return answer_beyond_log(stats);
	if (err == ERR_LIMIT && stats->is_ready && stats->needs_log)
		return response_problem(
			r, 422, "too-many-visits",
			"The range has too many visits for this query. Use a shorter range.");
	if (err == ERR_LIMIT && stats->is_ready && stats->question.link_id == 0)
		return response_problem(
			r, 422, "too-many-visits",
			"The links have too many visits for this query. Use a shorter range, or tag or filter.");
	return response_failure(r, err);
}
