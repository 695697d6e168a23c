#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "services/links-api/lists/link_query.h"

static struct link_query query;
static struct http_problem_fields wrong;

static enum err read_query(const char *text)
{
	wrong.count = 0;
	return link_query_read(text, LINK_QUERY_LIST, 7, &query, &wrong);
}

static void reads_page_and_limit(void **state)
{
	(void)state;
	assert_int_equal(read_query(""), OK);
	assert_int_equal(query.page, 1);
	assert_int_equal(query.limit, 20);
	assert_int_equal(read_query("limit=100&page=7"), OK);
	assert_int_equal(query.page, 7);
	assert_int_equal(query.limit, 100);
	assert_int_equal(read_query("&page=2&"), OK);
	assert_int_equal(query.page, 2);
	assert_int_equal(read_query("page=%32"), OK);
	assert_int_equal(query.page, 2);
}

static void refuses_numbers_out_of_range(void **state)
{
	(void)state;
	static const char *const refused[] = {
		"page=0",
		"page=-1",
		"page=",
		"page",
		"page=x",
		"page=1x",
		"page=1.5",
		"page=+1",
		"page=1000001",
		"page=%zz",
		"limit=0",
		"limit=101",
		"limit=1e1",
		"limit=%00",
		"page=99999999999999999999",
		"page=000000000000000000000000000001",
	};
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		if (read_query(refused[i]) != ERR_INVALID)
			fail_msg("accepted: %s", refused[i]);
		assert_int_equal(wrong.count, 1);
		assert_memory_equal(wrong.field[0].pointer + 1, refused[i], strcspn(refused[i], "="));
	}
}

static void reads_which_links_and_in_which_order(void **state)
{
	(void)state;
	assert_int_equal(read_query("page=3"), OK);
	assert_true(link_query_is_plain(&query));
	assert_true(query.owner_id == 7 && query.sort == LINK_QUERY_CREATED_AT && !query.is_ascending);
	assert_int_equal(
		read_query("q=a%20b&tag=t&state=EXPIRED&sort=visit_count&order=asc&owner=9&filter=id:1%2Bid:2"), OK);
	assert_false(link_query_is_plain(&query));
	assert_string_equal(query.q, "a b");
	assert_string_equal(query.tag, "t");
	assert_int_equal(query.state, LINK_STATE_EXPIRED);
	assert_int_equal(query.sort, LINK_QUERY_VISIT_COUNT);
	assert_true(query.is_ascending && query.has_owner && query.owner_id == 9);
	assert_int_equal(query.filter.term_count, 2);
	assert_int_equal(read_query("owner=999999999999999999"), OK);
	assert_int_equal(read_query("owner=all"), OK);
	assert_int_equal(query.owner_id, -1);
	static const char *const not_plain[] = { "q=a",       "tag=a",   "state=ACTIVE", "sort=visit_count",
		                                 "order=asc", "owner=7", "filter=id:1" };
	for (size_t i = 0; i < sizeof(not_plain) / sizeof(not_plain[0]); i++) {
		assert_int_equal(read_query(not_plain[i]), OK);
		assert_false(link_query_is_plain(&query));
	}
}

static void refuses_what_a_parameter_cannot_be(void **state)
{
	(void)state;
	static const char *const refused[] = {
		"sort=slug",
		"sort=",
		"order=up",
		"order=ASC",
		"q=",
		"q=%0a",
		"tag=",
		"tag=%7f",
		"state=active",
		"state=",
		"owner=0",
		"owner=-1",
		"owner=me",
		"owner=1000000000000000000",
		"filter=",
		"filter=id",
		"filter=owner_id:1",
		"cursor=",
		"cursor=x",
	};
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		if (read_query(refused[i]) != ERR_INVALID)
			fail_msg("accepted: %s", refused[i]);
		assert_int_equal(wrong.count, 1);
	}
	assert_int_equal(read_query("filter=id:x"), ERR_INVALID);
	assert_string_equal(wrong.field[0].pointer, "/filter");
	assert_string_equal(wrong.field[0].detail, "at character 4: id must be a whole number");
}

static enum err read_behind(const struct link_cursor *place, const char *text)
{
	char with_cursor[512], cursor[LINK_CURSOR_SIZE];
	assert_int_equal(read_query(text), OK);
	link_cursor_format(place, query.question, cursor);
	snprintf(with_cursor, sizeof(with_cursor), "%s&cursor=%s", text, cursor);
	return read_query(with_cursor);
}

static void goes_on_behind_a_cursor_of_the_same_question_alone(void **state)
{
	(void)state;
	const struct link_cursor place = { 5, 6 };
	char query_text[256], cursor[LINK_CURSOR_SIZE];
	assert_int_equal(read_behind(&place, "q=a&limit=5"), OK);
	assert_true(query.page == 0 && query.behind.key == 5 && query.behind.id == 6);
	link_cursor_format(&place, query.question, cursor);
	static const char *const others[] = { "q=b",
		                              "tag=a",
		                              "q=a&sort=visit_count",
		                              "q=a&order=asc",
		                              "q=a&owner=1",
		                              "q=a&state=ACTIVE",
		                              "q=a&filter=id:1",
		                              "q=a&page=1" };
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		snprintf(query_text, sizeof(query_text), "%s&cursor=%s", others[i], cursor);
		assert_int_equal(read_query(query_text), ERR_INVALID);
		assert_string_equal(wrong.field[0].pointer, "/cursor");
	}
}

/* Whoever makes up a cursor with the right check must not make PostgreSQL stumble. */
static void refuses_a_cursor_with_a_place_that_cannot_be(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		struct link_cursor place;
		enum err expected;
	} cases[] = {
		{ "q=a", { INT64_MIN, 1 }, ERR_INVALID },
		{ "q=a", { INT64_MAX, 1 }, ERR_INVALID },
		{ "q=a", { -1, 1 }, ERR_INVALID },
		{ "q=a", { 1, 0 }, ERR_INVALID },
		{ "sort=visit_count", { INT64_MAX, 1 }, OK },
		{ "sort=visit_count", { INT64_MIN, 1 }, ERR_INVALID },
		{ "sort=last_visited_at", { INT64_MIN, 1 }, OK },
		{ "sort=last_visited_at", { INT64_MAX, 1 }, ERR_INVALID },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(read_behind(&cases[i].place, cases[i].text), cases[i].expected);
}

static void wants_a_filter_to_change_links(void **state)
{
	(void)state;
	wrong.count = 0;
	assert_int_equal(link_query_read("filter=id:1", LINK_QUERY_CHANGE, 7, &query, &wrong), OK);
	assert_int_equal(link_query_read("", LINK_QUERY_CHANGE, 7, &query, &wrong), ERR_INVALID);
	assert_string_equal(wrong.field[0].pointer, "/filter");
	wrong.count = 0;
	assert_int_equal(link_query_read("filter=id:1&q=a", LINK_QUERY_CHANGE, 7, &query, &wrong), ERR_INVALID);
	assert_string_equal(wrong.field[0].pointer, "/q");
}

static void passes_over_no_parameter_that_it_does_not_know(void **state)
{
	(void)state;
	assert_int_equal(read_query("slug=abc"), ERR_INVALID);
	assert_string_equal(wrong.field[0].pointer, "/slug");
	assert_int_equal(read_query("page=1&Page=2"), ERR_INVALID);
	assert_string_equal(wrong.field[0].pointer, "/Page");
	assert_int_equal(read_query("page=1&page=2"), ERR_INVALID);
	assert_string_equal(wrong.field[0].pointer, "/page");
	assert_int_equal(read_query("=1"), ERR_INVALID);
	assert_int_equal(read_query("\xff=1&a/b~=2"), ERR_INVALID);
	assert_int_equal(wrong.count, 2);
	assert_string_equal(wrong.field[1].pointer, "/a~1b~0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_page_and_limit),
		cmocka_unit_test(refuses_numbers_out_of_range),
		cmocka_unit_test(reads_which_links_and_in_which_order),
		cmocka_unit_test(refuses_what_a_parameter_cannot_be),
		cmocka_unit_test(goes_on_behind_a_cursor_of_the_same_question_alone),
		cmocka_unit_test(refuses_a_cursor_with_a_place_that_cannot_be),
		cmocka_unit_test(wants_a_filter_to_change_links),
		cmocka_unit_test(passes_over_no_parameter_that_it_does_not_know),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
