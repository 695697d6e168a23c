#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include "services/links-api/cors.h"

static void takes_origins_as_browsers_write_them(void **state)
{
	static const char *const good[] = { "",
		                            " , ",
		                            "https://a.example",
		                            "http://localhost:3000",
		                            "https://xn--mnchen-3ya.example:8443, http://127.0.0.1:8080",
		                            "http://[::1]:3000",
		                            "https://a.example:80 http://a.example:443" };
	(void)state;
	struct cors cors;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (cors_init(&cors, good[i]) != OK)
			fail_msg("%s", good[i]);
}

static void refuses_what_no_browser_ever_sends(void **state)
{
	static const char *const bad[] = { "*",
		                           "null",
		                           "a.example",
		                           "https://",
		                           "https://a.example/",
		                           "https://a.example/x",
		                           "https://A.example",
		                           "HTTPS://a.example",
		                           "https://*.example",
		                           "https://a.example:443",
		                           "http://a.example:80",
		                           "https://a.example:",
		                           "https://a.example:0",
		                           "https://a.example:99999",
		                           "https://a.example:8a",
		                           "https://u@a.example",
		                           "ftp://a.example",
		                           "http://[::1",
		                           "http://[]",
		                           "https://good.example, https://bad.example/" };
	(void)state;
	struct cors cors;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (cors_init(&cors, bad[i]) != ERR_INVALID)
			fail_msg("%s", bad[i]);
}

static void allows_the_origins_of_the_list_to_the_letter(void **state)
{
	static const char *const strangers[] = { "https://a.example.evil",
		                                 "https://a.exampl",
		                                 "http://a.example",
		                                 "https://a.example:444",
		                                 "https://A.example",
		                                 "https://a.example/",
		                                 "https://b.a.example",
		                                 "null",
		                                 "",
		                                 "https://a.example, ",
		                                 "https://a.example," };
	(void)state;
	struct cors cors;
	assert_int_equal(cors_init(&cors, "https://a.example, http://localhost:3000"), OK);
	assert_true(cors_allows(&cors, "https://a.example"));
	assert_true(cors_allows(&cors, "http://localhost:3000"));
	for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++)
		if (cors_allows(&cors, strangers[i]))
			fail_msg("%s", strangers[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_origins_as_browsers_write_them),
		cmocka_unit_test(refuses_what_no_browser_ever_sends),
		cmocka_unit_test(allows_the_origins_of_the_list_to_the_letter),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
