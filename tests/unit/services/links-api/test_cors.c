#include <stdint.h>

#include "services/links-api/http/cors.h"
#include "tests/support/test.h"

TEST_CASE(accepts_origins_in_the_form_browsers_send)
{
	static const char *const valid[] = {
		"",
		" , ",
		"https://a.example",
		"http://localhost:3000",
		"https://xn--mnchen-3ya.example:8443, http://127.0.0.1:8080",
		"http://[::1]:3000",
		"https://a.example:80 http://a.example:443"
	};
	(void)state;
	struct cors cors;
	for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++)
		if (cors_init(&cors, valid[i]) != OK)
			fail_msg("%s", valid[i]);
}

TEST_CASE(refuses_forms_that_browsers_never_send)
{
	static const char *const invalid[] = { "*",
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
	for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++)
		if (cors_init(&cors, invalid[i]) != ERR_INVALID)
			fail_msg("%s", invalid[i]);
}

TEST_CASE(allows_only_exact_matches)
{
	static const char *const others[] = { "https://a.example.evil",
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
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (cors_allows(&cors, others[i]))
			fail_msg("%s", others[i]);
}

TEST_MAIN()
