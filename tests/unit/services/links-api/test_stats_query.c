#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "services/links-api/stats/stats_query.h"

static struct stats_query query;
static struct http_problem_fields wrong;

static const struct stats_query_terms everything = { STATS_QUERY_INTERVAL | STATS_QUERY_LIMIT | STATS_QUERY_FILTERS |
	                                                     STATS_QUERY_CURSOR | STATS_QUERY_BOTS | STATS_QUERY_FORMAT,
	                                             10, 1000 };
static const struct stats_query_terms range_alone = { 0 };

static enum err read_query(const char *text, const struct stats_query_terms *terms)
{
	wrong.count = 0;
	return stats_query_read(text, terms, &query, &wrong);
}

static void nothing_given_is_everybody_human_by_day_in_utc(void **state)
{
	(void)state;
	assert_int_equal(read_query("", &everything), OK);
	assert_false(query.from.is_given || query.to.is_given || query.has_limit);
	assert_string_equal(query.zone, "UTC");
	assert_int_equal(query.interval, LOCAL_CALENDAR_DAY);
	assert_int_equal(query.limit, 10);
	assert_int_equal(query.filter.count, 0);
	assert_int_equal(query.filter.who, VISIT_FILTER_HUMANS);
}

static void reads_times_dates_and_zones(void **state)
{
	(void)state;
	assert_int_equal(
		read_query(
			"from=2026-11-20T08:00:00%2B01:00&to=2026-11-21&tz=America/Argentina/ComodRivadavia&interval=month",
			&everything),
		OK);
	assert_int_equal(query.from.time_us, INT64_C(1795158000000000));
	assert_string_equal(query.from.date, "");
	assert_string_equal(query.to.date, "2026-11-21");
	assert_string_equal(query.zone, "America/Argentina/ComodRivadavia");
	assert_int_equal(query.interval, LOCAL_CALENDAR_MONTH);
}

static void reads_filters_in_their_order(void **state)
{
	(void)state;
	assert_int_equal(read_query("country=DE&country=AT&browser!=Chrome&os%21=&bots=only&limit=7", &everything), OK);
	assert_int_equal(query.filter.count, 4);
	assert_int_equal(query.filter.terms[0].dimension, VISIT_DIMENSION_COUNTRY);
	assert_string_equal(query.filter.terms[1].value, "AT");
	assert_false(query.filter.terms[1].is_not);
	assert_int_equal(query.filter.terms[2].dimension, VISIT_DIMENSION_BROWSER);
	assert_true(query.filter.terms[2].is_not);
	assert_true(query.filter.terms[3].is_not);
	assert_string_equal(query.filter.terms[3].value, "");
	assert_int_equal(query.filter.who, VISIT_FILTER_BOTS);
	assert_int_equal(query.limit, 7);
}

static void names_each_wrong_parameter(void **state)
{
	(void)state;
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
		{ "country!=D1", "/country!" },
		{ "format=xml", "/format" },
		{ "format=csv&format=csv", "/format" },
		{ "%ff=1", "/%ff" },
		{ "a~b=1", "/a~0b" },
	};
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		if (read_query(examples[i].query, &everything) != ERR_INVALID || wrong.count != 1 ||
		    strcmp(wrong.field[0].pointer, examples[i].pointer) != 0)
			fail_msg("%s: %zu wrong, %s", examples[i].query, wrong.count, wrong.field[0].pointer);
	}
}

static void tells_who_wrote_a_plus_into_the_url_how_it_is_done(void **state)
{
	(void)state;
	assert_int_equal(read_query("to=2026-11-20T08:00:00+01:00", &everything), ERR_INVALID);
	assert_non_null(strstr(wrong.field[0].detail, "%2B"));
}

static void reads_countries_in_any_case(void **state)
{
	(void)state;
	assert_int_equal(read_query("country=us&country!=dE&country=&os=linux", &everything), OK);
	assert_string_equal(query.filter.terms[0].value, "US");
	assert_string_equal(query.filter.terms[1].value, "DE");
	assert_string_equal(query.filter.terms[2].value, "");
	assert_string_equal(query.filter.terms[3].value, "linux");
}

static void reads_the_format(void **state)
{
	(void)state;
	assert_int_equal(read_query("", &everything), OK);
	assert_int_equal(query.format, STATS_QUERY_FORMAT_NONE);
	assert_int_equal(read_query("format=ndjson", &everything), OK);
	assert_int_equal(query.format, STATS_QUERY_FORMAT_NDJSON);
}

static void takes_no_more_than_the_endpoint_does(void **state)
{
	(void)state;
	static const char *const refused[] = { "limit=1",      "country=DE", "bots=only",
		                               "interval=day", "cursor=1_x", "format=csv" };
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (read_query(refused[i], &range_alone) != ERR_INVALID)
			fail_msg("accepted: %s", refused[i]);
	assert_int_equal(read_query("from=2026-11-20&tz=UTC", &range_alone), OK);
}

static void bounds_filters(void **state)
{
	(void)state;
	static const char many[] =
		"os=a&os=a&os=a&os=a&os=a&os=a&os=a&os=a&os=a&os=a&os=a&os=a&os=a&os=a&os=a&os=a&os=a";
	char text[512];
	assert_int_equal(read_query(many + 5, &everything), OK);
	assert_int_equal(query.filter.count, VISIT_FILTER_TERMS_MAX);
	assert_int_equal(read_query(many, &everything), ERR_INVALID);
	snprintf(text, sizeof(text), "os=%0*d", VISIT_FILTER_VALUE_SIZE - 1, 0);
	assert_int_equal(read_query(text, &everything), OK);
	snprintf(text, sizeof(text), "os=%0*d", VISIT_FILTER_VALUE_SIZE, 0);
	assert_int_equal(read_query(text, &everything), ERR_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_given_is_everybody_human_by_day_in_utc),
		cmocka_unit_test(reads_times_dates_and_zones),
		cmocka_unit_test(reads_filters_in_their_order),
		cmocka_unit_test(names_each_wrong_parameter),
		cmocka_unit_test(tells_who_wrote_a_plus_into_the_url_how_it_is_done),
		cmocka_unit_test(reads_countries_in_any_case),
		cmocka_unit_test(reads_the_format),
		cmocka_unit_test(takes_no_more_than_the_endpoint_does),
		cmocka_unit_test(bounds_filters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
