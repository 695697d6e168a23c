#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "services/links-api/lists/link_list_params.h"
#include "tests/support/test.h"

static struct link_list_params params;
static struct http_problem_fields wrong;

static enum err read_query(const char *text)
{
	wrong.count = 0;
	return link_list_params_read(text, LINK_LIST_PARAMS_LIST, 7, &params, &wrong);
}

TEST_CASE(reads_page_and_limit)
{
	assert_int_equal(read_query(""), OK);
	assert_int_equal(params.page, 1);
	assert_int_equal(params.limit, 20);
	assert_int_equal(read_query("limit=100&page=7"), OK);
	assert_int_equal(params.page, 7);
	assert_int_equal(params.limit, 100);
	assert_int_equal(read_query("&page=2&"), OK);
	assert_int_equal(params.page, 2);
	assert_int_equal(read_query("page=%32"), OK);
	assert_int_equal(params.page, 2);
}

TEST_CASE(rejects_numbers_out_of_range)
{
	static const char *const invalid[] = {
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
	for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++) {
		if (read_query(invalid[i]) != ERR_INVALID)
			fail_msg("accepted: %s", invalid[i]);
		assert_int_equal(wrong.count, 1);
		assert_memory_equal(wrong.field[0].pointer + 1, invalid[i],
		                    strcspn(invalid[i], "="));
	}
}

TEST_CASE(says_what_is_wrong_with_a_value_that_cannot_be_read)
{
	static char query[3000];
	static const struct {
		const char *name;
		int bytes;
		const char *code;
	} examples[] = {
		{ "filter", 2001, "too-many-bytes" },
		{ "q", 2001, "too-many-bytes" },
		{ "tag", 2900, "too-many-bytes" },
		{ "filter=%zz", 0, "malformed" },
		{ "q=%00", 0, "malformed" },
		{ "workspace=%ff", 0, "malformed" },
		{ "other", 2900, "unknown" },
		{ "other=%zz", 0, "unknown" },
		{ "%ff", 1, "unknown" },
	};
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		int len = snprintf(query, sizeof(query), "%s%s", examples[i].name,
		                   examples[i].bytes ? "=" : "");
		memset(query + len, 'a', (size_t)examples[i].bytes);
		query[len + examples[i].bytes] = '\0';
		if (read_query(query) != ERR_INVALID || wrong.count != 1 ||
		    strcmp(wrong.field[0].code, examples[i].code) != 0)
			fail_msg("%s: %zu wrong, %s", examples[i].name, wrong.count,
			         wrong.field[0].code);
	}
	memset(query, 0, sizeof(query));
	memset(query, 'a', 2900);
	memcpy(query, "filter=", 7);
	wrong.count = 0;
	assert_int_equal(link_list_params_read(query, LINK_LIST_PARAMS_CHANGE, 7, &params, &wrong),
	                 ERR_INVALID);
	assert_int_equal(wrong.count, 1);
	assert_string_equal(wrong.field[0].code, "too-many-bytes");
}

TEST_CASE(reads_filters_and_sort_order)
{
	assert_int_equal(read_query("page=3"), OK);
	assert_true(params.workspace_id == 7 && params.sort == LINK_LIST_PARAMS_CREATED_AT &&
	            !params.is_ascending);
	assert_int_equal(
		read_query(
			"q=a%20b&tag=t&state=expired&sort=humans&order=asc&workspace=9&filter=id:1%2Bid:2"),
		OK);
	assert_string_equal(params.q, "a b");
	assert_string_equal(params.tag, "t");
	assert_int_equal(params.state, LINK_STATE_EXPIRED);
	assert_int_equal(params.sort, LINK_LIST_PARAMS_HUMANS);
	assert_true(params.is_ascending && params.has_workspace && params.workspace_id == 9);
	assert_int_equal(params.filter.term_count, 2);
	assert_int_equal(read_query("workspace=999999999999999999"), OK);
	assert_int_equal(read_query("workspace=all"), OK);
	assert_int_equal(params.workspace_id, -1);
}

TEST_CASE(rejects_invalid_values)
{
	static const char *const invalid[] = {
		"sort=slug",
		"sort=",
		"order=up",
		"order=ASC",
		"q=",
		"q=%0a",
		"tag=",
		"tag=%7f",
		"state=ACTIVE",
		"state=",
		"workspace=0",
		"workspace=-1",
		"workspace=me",
		"workspace=1000000000000000000",
		"filter=",
		"filter=id",
		"filter=workspace_id:1",
		"cursor=",
		"cursor=x",
	};
	for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++) {
		if (read_query(invalid[i]) != ERR_INVALID)
			fail_msg("accepted: %s", invalid[i]);
		assert_int_equal(wrong.count, 1);
	}
	assert_int_equal(read_query("filter=id:x"), ERR_INVALID);
	assert_string_equal(wrong.field[0].pointer, "/filter");
	assert_string_equal(wrong.field[0].detail,
	                    "at character 4: id must be a whole number, not 'x'");
}

static enum err read_with_cursor(const struct link_list_params_cursor *position, const char *text)
{
	char with_cursor[512], cursor[LINK_LIST_PARAMS_CURSOR_SIZE];
	assert_int_equal(read_query(text), OK);
	link_list_params_format_cursor(position, params.query_key, cursor);
	snprintf(with_cursor, sizeof(with_cursor), "%s&cursor=%s", text, cursor);
	return read_query(with_cursor);
}

TEST_CASE(accepts_a_cursor_only_with_the_query_that_it_belongs_to)
{
	const struct link_list_params_cursor position = { 5, 6 };
	char query_text[256], cursor[LINK_LIST_PARAMS_CURSOR_SIZE];
	assert_int_equal(read_with_cursor(&position, "q=a&limit=5"), OK);
	assert_true(params.page == 0 && params.after.key == 5 && params.after.id == 6);
	link_list_params_format_cursor(&position, params.query_key, cursor);
	static const char *const others[] = { "q=b",
		                              "tag=a",
		                              "q=a&sort=humans",
		                              "q=a&order=asc",
		                              "q=a&workspace=1",
		                              "q=a&state=active",
		                              "q=a&filter=id:1",
		                              "q=a&page=1" };
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		snprintf(query_text, sizeof(query_text), "%s&cursor=%s", others[i], cursor);
		assert_int_equal(read_query(query_text), ERR_INVALID);
		assert_string_equal(wrong.field[0].pointer, "/cursor");
	}
}

/* A client can forge a valid checksum. PostgreSQL must still accept the values. */
TEST_CASE(rejects_a_forged_cursor_with_impossible_values)
{
	static const struct {
		const char *text;
		struct link_list_params_cursor position;
		enum err expected;
	} cases[] = {
		{ "q=a", { INT64_MIN, 1 }, ERR_INVALID },
		{ "q=a", { INT64_MAX, 1 }, ERR_INVALID },
		{ "q=a", { -1, 1 }, ERR_INVALID },
		{ "q=a", { 1, 0 }, ERR_INVALID },
		{ "sort=humans", { INT64_MAX, 1 }, OK },
		{ "sort=humans", { INT64_MIN, 1 }, ERR_INVALID },
		{ "sort=last_visited_at", { INT64_MIN, 1 }, OK },
		{ "sort=last_visited_at", { INT64_MAX, 1 }, ERR_INVALID },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(read_with_cursor(&cases[i].position, cases[i].text),
		                 cases[i].expected);
}

TEST_CASE(requires_a_filter_for_a_bulk_update)
{
	wrong.count = 0;
	assert_int_equal(
		link_list_params_read("filter=id:1", LINK_LIST_PARAMS_CHANGE, 7, &params, &wrong),
		OK);
	assert_int_equal(link_list_params_read("", LINK_LIST_PARAMS_CHANGE, 7, &params, &wrong),
	                 ERR_INVALID);
	assert_string_equal(wrong.field[0].pointer, "/filter");
	wrong.count = 0;
	assert_int_equal(link_list_params_read("filter=id:1&q=a", LINK_LIST_PARAMS_CHANGE, 7,
	                                       &params, &wrong),
	                 ERR_INVALID);
	assert_string_equal(wrong.field[0].pointer, "/q");
}

TEST_CASE(rejects_unknown_parameters_instead_of_ignoring_them)
{
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

TEST_CASE(parses_the_cursors_that_it_formatted)
{
	static const struct link_list_params_cursor positions[] = {
		{ 0, 1 },  { INT64_MAX, INT64_MAX }, { INT64_MIN, 7 }, { 1763625600123456, 42 },
		{ -1, 1 },
	};
	for (size_t i = 0; i < sizeof(positions) / sizeof(positions[0]); i++) {
		char text[LINK_LIST_PARAMS_CURSOR_SIZE];
		struct link_list_params_cursor read;
		link_list_params_format_cursor(&positions[i], "query", text);
		assert_int_equal(strlen(text), LINK_LIST_PARAMS_CURSOR_SIZE - 1);
		assert_int_equal(link_list_params_parse_cursor(text, "query", &read), OK);
		assert_true(read.key == positions[i].key && read.id == positions[i].id);
	}
}

TEST_CASE(a_cursor_is_valid_only_for_its_own_query)
{
	const struct link_list_params_cursor position = { 5, 6 };
	struct link_list_params_cursor read;
	char text[LINK_LIST_PARAMS_CURSOR_SIZE];
	link_list_params_format_cursor(&position, "created_at by 1", text);
	assert_int_equal(link_list_params_parse_cursor(text, "created_at by 2", &read),
	                 ERR_INVALID);
	assert_int_equal(link_list_params_parse_cursor(text, "", &read), ERR_INVALID);
}

TEST_CASE(a_cursor_is_invalid_with_any_digit_changed_or_in_another_format)
{
	static const char *const malformed[] = { "", "0", "x", "next" };
	const struct link_list_params_cursor position = { 5, 6 };
	struct link_list_params_cursor read;
	char text[LINK_LIST_PARAMS_CURSOR_SIZE + 1];
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
		assert_int_equal(link_list_params_parse_cursor(malformed[i], "q", &read),
		                 ERR_INVALID);
	for (size_t i = 0; i < LINK_LIST_PARAMS_CURSOR_SIZE - 1; i++) {
		link_list_params_format_cursor(&position, "q", text);
		text[i] = text[i] == '0' ? '1' : '0';
		assert_int_equal(link_list_params_parse_cursor(text, "q", &read), ERR_INVALID);
		text[i] = 'G';
		assert_int_equal(link_list_params_parse_cursor(text, "q", &read), ERR_INVALID);
	}
	link_list_params_format_cursor(&position, "q", text);
	text[LINK_LIST_PARAMS_CURSOR_SIZE - 2] = '\0';
	assert_int_equal(link_list_params_parse_cursor(text, "q", &read), ERR_INVALID);
	link_list_params_format_cursor(&position, "q", text);
	text[LINK_LIST_PARAMS_CURSOR_SIZE - 1] = '0';
	text[LINK_LIST_PARAMS_CURSOR_SIZE] = '\0';
	assert_int_equal(link_list_params_parse_cursor(text, "q", &read), ERR_INVALID);
}

TEST_MAIN()
