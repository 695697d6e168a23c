#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <string.h>

#include "services/links-api/link_query.h"

static struct link_query query;
static struct http_problem_fields wrong;

static enum err read_query(const char *text)
{
	wrong.count = 0;
	return link_query_read(text, &query, &wrong);
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

static void passes_over_no_parameter_that_it_does_not_know(void **state)
{
	(void)state;
	assert_int_equal(read_query("state=ACTIVE"), ERR_INVALID);
	assert_string_equal(wrong.field[0].pointer, "/state");
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
		cmocka_unit_test(passes_over_no_parameter_that_it_does_not_know),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
