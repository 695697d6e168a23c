#include <stdint.h>
#include <string.h>

#include "lib/http/http_accept.h"
#include "tests/support/test.h"

static void check_next(const char **list, const char *name, int weight)
{
	struct http_accept_item item;
	assert_true(http_accept_next(list, &item));
	assert_true(http_accept_is(&item, name));
	assert_int_equal(item.len, strlen(name));
	assert_int_equal(item.weight, weight);
}

static void check_end(const char **list)
{
	struct http_accept_item item;
	assert_false(http_accept_next(list, &item));
	assert_false(http_accept_next(list, &item));
}

static void check_weight(const char *list, int weight)
{
	check_next(&list, "a", weight);
	check_end(&list);
}

TEST_CASE(iterates_over_items_with_their_weights)
{
	const char *list = "text/html, Application/JSON;q=0.9 ,\t*/*;q=0";
	check_next(&list, "text/html", 1000);
	check_next(&list, "application/json", 900);
	check_next(&list, "*/*", 0);
	check_end(&list);
}

TEST_CASE(skips_empty_items)
{
	const char *list = " ,, de-AT , ,en ,";
	check_next(&list, "de-AT", 1000);
	check_next(&list, "en", 1000);
	check_end(&list);
	list = "";
	check_end(&list);
	list = " , ";
	check_end(&list);
}

TEST_CASE(parses_weights_in_thousandths)
{
	check_weight("a;q=1", 1000);
	check_weight("a;q=1.000", 1000);
	check_weight("a;q=0.", 0);
	check_weight("a;q=0.5", 500);
	check_weight("a;q=0.25", 250);
	check_weight("a;q=0.125", 125);
	check_weight("a ; Q=0.5 ", 500);
}

TEST_CASE(finds_the_weight_among_other_parameters)
{
	check_weight("a;level=1;q=0.5", 500);
	check_weight("a;level=1; \tq=0.5;x=y", 500);
	check_weight("a;level=1", 1000);
	check_weight("a;", 1000);
	check_weight("a;;q=0.5", 500);
}

TEST_CASE(marks_malformed_weights)
{
	static const char *const malformed[] = { "a;q=",     "a;q=2",  "a;q=1.5", "a;q=0.1234",
		                                 "a;q=0.5x", "a;q=.5", "a;q=-1",  "a;q=0x1",
		                                 "a;q=0.a",  "a;q=0 5" };
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
		struct http_accept_item item;
		const char *list = malformed[i];
		assert_true(http_accept_next(&list, &item));
		assert_int_equal(item.weight, HTTP_ACCEPT_WEIGHT_INVALID);
	}
}

TEST_CASE(compares_names_ignoring_case)
{
	struct http_accept_item item = { .name = "Text/HTML;q=1", .len = 9 };
	assert_true(http_accept_is(&item, "text/html"));
	assert_false(http_accept_is(&item, "text/htm"));
	assert_false(http_accept_is(&item, "text/html;"));
}

TEST_MAIN()
