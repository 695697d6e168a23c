#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "services/links-api/statistics/stats_request.h"
#include "tests/support/test.h"

static struct stats_request_params params;
static struct http_problem_fields wrong;

static const struct stats_request_terms everything = {
	STATS_REQUEST_INTERVAL | STATS_REQUEST_LIMIT | STATS_REQUEST_FILTERS |
		STATS_REQUEST_CURSOR | STATS_REQUEST_BOTS | STATS_REQUEST_FORMAT,
	10, 1000
};
static const struct stats_request_terms range_alone = { 0 };

static enum err read_query(const char *text, const struct stats_request_terms *terms)
{
	wrong.count = 0;
	return stats_request_read_params(text, terms, &params, &wrong);
}

TEST_CASE(defaults_to_humans_by_day_in_utc)
{
	assert_int_equal(read_query("", &everything), OK);
	assert_false(params.from.is_given || params.to.is_given || params.has_limit);
	assert_string_equal(params.zone, "UTC");
	assert_int_equal(params.interval, LOCAL_CALENDAR_DAY);
	assert_int_equal(params.limit, 10);
	assert_int_equal(params.filter.count, 0);
	assert_int_equal(params.filter.traffic, VISIT_FILTER_HUMANS);
}

TEST_CASE(reads_times_dates_and_zones)
{
	assert_int_equal(
		read_query(
			"from=2026-11-20T08:00:00%2B01:00&to=2026-11-21&tz=America/Argentina/ComodRivadavia&interval=month",
			&everything),
		OK);
	assert_int_equal(params.from.time_us, INT64_C(1795158000000000));
	assert_string_equal(params.from.date, "");
	assert_string_equal(params.to.date, "2026-11-21");
	assert_string_equal(params.zone, "America/Argentina/ComodRivadavia");
	assert_int_equal(params.interval, LOCAL_CALENDAR_MONTH);
}

TEST_CASE(reads_filters_in_order)
{
	assert_int_equal(
		read_query("country=DE&country=AT&not_browser=Chrome&not_os=&bots=only&limit=7",
	                   &everything),
		OK);
	assert_int_equal(params.filter.count, 4);
	assert_int_equal(params.filter.terms[0].dimension, VISIT_DIMENSION_COUNTRY);
	assert_string_equal(params.filter.terms[1].value, "AT");
	assert_false(params.filter.terms[1].is_not);
	assert_int_equal(params.filter.terms[2].dimension, VISIT_DIMENSION_BROWSER);
	assert_true(params.filter.terms[2].is_not);
	assert_true(params.filter.terms[3].is_not);
	assert_string_equal(params.filter.terms[3].value, "");
	assert_int_equal(params.filter.traffic, VISIT_FILTER_BOTS);
	assert_int_equal(params.limit, 7);
}

TEST_CASE(reports_each_invalid_parameter)
{
	static const struct {
		const char *query, *pointer;
	} examples[] = {
		{ "from=", "/from" },
		{ "from=2026-13-01", "/from" },
		{ "to=2026-02-30", "/to" },
		{ "to=1969-12-31", "/to" },
		{ "to=20261120", "/to" },
		{ "from=2026-11-20T08:00:00", "/from" },
		{ "tz=", "/tz" },
		{ "tz=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "/tz" },
		{ "interval=year", "/interval" },
		{ "limit=1001", "/limit" },
		{ "bots=", "/bots" },
		{ "bots=exclude", "/bots" },
		{ "cursor=x", "/cursor" },
		{ "colour=red", "/colour" },
		{ "!=x", "/!" },
		{ "country!!=x", "/country!!" },
		{ "limit=1&limit=2", "/limit" },
		{ "country=%zz", "/country" },
		{ "country=US,DE", "/country" },
		{ "country=USA", "/country" },
		{ "not_country=D1", "/not_country" },
		{ "format=xml", "/format" },
		{ "format=csv&format=csv", "/format" },
		{ "%ff=1", "/%ff" },
		{ "a~b=1", "/a~0b" },
	};
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		if (read_query(examples[i].query, &everything) != ERR_INVALID || wrong.count != 1 ||
		    strcmp(wrong.field[0].pointer, examples[i].pointer) != 0)
			fail_msg("%s: %zu wrong, %s", examples[i].query, wrong.count,
			         wrong.field[0].pointer);
	}
}

TEST_CASE(explains_how_to_escape_a_plus_in_the_url)
{
	assert_int_equal(read_query("to=2026-11-20T08:00:00+01:00", &everything), ERR_INVALID);
	assert_non_null(strstr(wrong.field[0].detail, "%2B"));
}

TEST_CASE(reads_countries_in_any_case)
{
	assert_int_equal(read_query("country=us&not_country=dE&country=&os=linux", &everything),
	                 OK);
	assert_string_equal(params.filter.terms[0].value, "US");
	assert_string_equal(params.filter.terms[1].value, "DE");
	assert_string_equal(params.filter.terms[2].value, "");
	assert_string_equal(params.filter.terms[3].value, "linux");
}

TEST_CASE(reads_the_format)
{
	assert_int_equal(read_query("", &everything), OK);
	assert_int_equal(params.format, STATS_REQUEST_FORMAT_NONE);
	assert_int_equal(read_query("format=ndjson", &everything), OK);
	assert_int_equal(params.format, STATS_REQUEST_FORMAT_NDJSON);
}

TEST_CASE(rejects_parameters_that_the_endpoint_does_not_accept)
{
	static const char *const rejected[] = { "limit=1",      "country=DE", "bots=only",
		                                "interval=day", "cursor=1_x", "format=csv" };
	for (size_t i = 0; i < sizeof(rejected) / sizeof(rejected[0]); i++)
		if (read_query(rejected[i], &range_alone) != ERR_INVALID)
			fail_msg("accepted: %s", rejected[i]);
	assert_int_equal(read_query("from=2026-11-20&tz=UTC", &range_alone), OK);
}

TEST_CASE(limits_the_number_and_length_of_filters)
{
	static const char many[] =
		"os=a&os=a&os=a&os=a&os=a&os=a&os=a&os=a&os=a&os=a&os=a&os=a&os=a&os=a&os=a&os=a&os=a";
	char text[512];
	assert_int_equal(read_query(many + 5, &everything), OK);
	assert_int_equal(params.filter.count, VISIT_FILTER_TERMS_MAX);
	assert_int_equal(read_query(many, &everything), ERR_INVALID);
	snprintf(text, sizeof(text), "os=%0*d", VISIT_FILTER_VALUE_SIZE - 1, 0);
	assert_int_equal(read_query(text, &everything), OK);
	snprintf(text, sizeof(text), "os=%0*d", VISIT_FILTER_VALUE_SIZE, 0);
	assert_int_equal(read_query(text, &everything), ERR_INVALID);
}

TEST_MAIN()
