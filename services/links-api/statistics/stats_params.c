#include "services/links-api/statistics/stats_params.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/number.h"
#include "lib/base/timestamp.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/query_params.h"

struct reading {
	const struct stats_params_terms *terms;
	struct stats_params *out;
	struct http_problem_fields *wrong;
	struct query_pair pair;
	const char *value;
};

#define WRONG(reading, ...)                                                                        \
	http_problem_add_field((reading)->wrong, (reading)->pair.pointer, __VA_ARGS__)

/* --- one parameter each --- */

static bool is_date(const char *text)
{
	static const char form[] = "dddd-dd-dd";
	if (strlen(text) != sizeof(form) - 1)
		return false;
	for (size_t i = 0; i < sizeof(form) - 1; i++)
		if (form[i] == '-' ? text[i] != '-' : text[i] < '0' || text[i] > '9')
			return false;
	/* timestamp_parse rejects dates before 1970 and days that do not exist. */
	char midnight[TIMESTAMP_TEXT_SIZE];
	int64_t time_us;
	snprintf(midnight, sizeof(midnight), "%sT00:00:00Z", text);
	return timestamp_parse(midnight, &time_us) == OK;
}

static void read_end(struct reading *reading, struct stats_params_end *end)
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

static void read_interval(struct reading *reading)
{
	reading->out->has_interval = true;
	for (enum local_calendar_interval i = LOCAL_CALENDAR_HOUR; i <= LOCAL_CALENDAR_MONTH; i++) {
		if (strcmp(reading->value, local_calendar_interval_name(i)) == 0) {
			reading->out->interval = i;
			return;
		}
	}
	WRONG(reading, "choice", "must be hour, day, week or month");
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
	if (strcmp(reading->value, "include") == 0)
		reading->out->filter.traffic = VISIT_FILTER_ALL;
	else if (strcmp(reading->value, "only") == 0)
		reading->out->filter.traffic = VISIT_FILTER_BOTS;
	else
		WRONG(reading, "choice", "must be include or only");
}

static void read_cursor(struct reading *reading)
{
	if (visit_page_cursor_parse(reading->value, &reading->out->after) != OK)
		WRONG(reading, "cursor", "invalid cursor; use next_cursor of an earlier response");
}

static void read_format(struct reading *reading)
{
	static const char *const names[] = {
		[STATS_PARAMS_FORMAT_JSON] = "json",
		[STATS_PARAMS_FORMAT_CSV] = "csv",
		[STATS_PARAMS_FORMAT_NDJSON] = "ndjson",
	};
	for (enum stats_params_format f = STATS_PARAMS_FORMAT_JSON; f <= STATS_PARAMS_FORMAT_NDJSON;
	     f++) {
		if (strcmp(reading->value, names[f]) == 0) {
			reading->out->format = f;
			return;
		}
	}
	WRONG(reading, "choice", "must be json, csv or ndjson");
}

static void read_compare(struct reading *reading)
{
	if (strcmp(reading->value, "previous") == 0)
		reading->out->compare = STATS_PARAMS_COMPARE_PREVIOUS;
	else if (strcmp(reading->value, "month") == 0)
		reading->out->compare = STATS_PARAMS_COMPARE_MONTH;
	else if (strcmp(reading->value, "year") == 0)
		reading->out->compare = STATS_PARAMS_COMPARE_YEAR;
	else
		WRONG(reading, "choice", "must be previous, month or year");
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
	{ "interval", STATS_PARAMS_INTERVAL, read_interval },
	{ "limit", STATS_PARAMS_LIMIT, read_limit },
	{ "bots", STATS_PARAMS_BOTS, read_bots },
	{ "cursor", STATS_PARAMS_CURSOR, read_cursor },
	{ "format", STATS_PARAMS_FORMAT, read_format },
	{ "compare", STATS_PARAMS_COMPARE, read_compare },
	{ "tag", STATS_PARAMS_LINKS, read_tag },
	{ "filter", STATS_PARAMS_LINKS, read_links_filter },
};
#define PARAMETER_COUNT ARRAY_SIZE(parameters)

/* --- all of them --- */

/* Only countries are checked: an invalid one would never match anything. */
static bool is_country(const char *value)
{
	bool is_code = strlen(value) == 2 && isalpha((unsigned char)value[0]) &&
	               isalpha((unsigned char)value[1]);
	return is_code || value[0] == '\0';
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
	if (!(reading->terms->parts & STATS_PARAMS_FILTERS) ||
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

enum err stats_params_read(const char *query, const struct stats_params_terms *terms,
                           struct stats_params *out, struct http_problem_fields *wrong)
{
	bool seen[PARAMETER_COUNT] = { false };
	*out = (struct stats_params){ .zone = "UTC",
		                      .interval = terms->parts & STATS_PARAMS_LAST_DAY
		                                          ? LOCAL_CALENDAR_HOUR
		                                          : LOCAL_CALENDAR_DAY,
		                      .limit = terms->limit_default };
	struct reading reading = { .terms = terms, .out = out, .wrong = wrong };
	reading.value = reading.pair.value;
	while (query_params_next(&query, &reading.pair))
		read_pair(&reading, seen);
	return wrong->count > 0 ? ERR_INVALID : OK;
}
