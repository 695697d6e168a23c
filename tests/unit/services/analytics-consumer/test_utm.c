#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include "services/analytics-consumer/utm.h"

static void finds_utm_source_in_each_query(void **state)
{
	(void)state;
	static const struct {
		const char *query, *source;
	} cases[] = {
		{ "", "" },
		{ "utm_source=news", "news" },
		{ "a=b&utm_source=news%20letter&utm_medium=mail", "news letter" },
		{ "utm_source=spring+sale", "spring sale" },
		{ "utm_source=first&utm_source=second", "first" },
		{ "utm_source=", "" },
		{ "utm_source", "" },
		{ "UTM_SOURCE=news", "" },
		{ "xutm_source=news", "" },
		{ "utm_source=%zz", "" },
		{ "utm_source=%00", "" },
		{ "utm_source=%ff", "" },
		{ "utm_source=a%0d%0ab", "a??b" },
		{ "utm_source=%e2%82%ac", "\xe2\x82\xac" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char source[128];
		utm_value(cases[i].query, "utm_source", source, sizeof(source));
		assert_string_equal(source, cases[i].source);
	}
}

static void cuts_a_long_value_at_a_character(void **state)
{
	(void)state;
	char value[8];
	utm_value("utm_campaign=12345%e2%82%ac", "utm_campaign", value, sizeof(value));
	assert_string_equal(value, "12345");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_utm_source_in_each_query),
		cmocka_unit_test(cuts_a_long_value_at_a_character),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
