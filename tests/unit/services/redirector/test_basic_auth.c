#include <string.h>

#include "services/redirector/gate/basic_auth.h"
#include "tests/support/test.h"

static void assert_password(const char *header, const char *password)
{
	char out[64];
	assert_int_equal(basic_auth_password(header, out, sizeof(out)), OK);
	assert_string_equal(out, password);
}

static void assert_refused(const char *header)
{
	char out[64];
	assert_int_equal(basic_auth_password(header, out, sizeof(out)), ERR_INVALID);
}

TEST_CASE(reads_the_password_behind_the_first_colon)
{
	assert_password("Basic dXNlcjpwYXNz", "pass");
	assert_password("basic dXNlcjpwYXNz", "pass");
	assert_password("BASIC   dXNlcjpwYXNz", "pass");
	assert_password("Basic OnBhc3M=", "pass");
	assert_password("Basic OnBhc3M", "pass");
	assert_password("Basic OmE6Yjpj", "a:b:c");
	assert_password("Basic Og==", "");
	assert_password("Basic OsO8", "\xc3\xbc");
	assert_password("Basic Oj4/Pj8=", ">?>?");
}

TEST_CASE(refuses_what_is_not_basic)
{
	assert_refused("");
	assert_refused("Basic");
	assert_refused("Basic ");
	assert_refused("Bearer dXNlcjpwYXNz");
	assert_refused("Basicx dXNlcjpwYXNz");
	assert_refused("Basic dXNl");           /* no colon */
	assert_refused("Basic dXNlcjpwYXN z");  /* a space */
	assert_refused("Basic dXNlcjpwYXNz=x"); /* after the padding */
	assert_refused("Basic OnB-c3M_");       /* base64url */
	assert_refused("Basic OmEAYg==");       /* a NUL */
	assert_refused("Basic \xc3\xbc");
}

TEST_CASE(bounds_the_credentials)
{
	char out[10];
	assert_int_equal(basic_auth_password("Basic dXNlcjpwYXNz", out, sizeof(out)), OK);
	assert_int_equal(basic_auth_password("Basic dXNlcjpwYXNzdw==", out, sizeof(out)),
	                 ERR_LIMIT);
}

TEST_MAIN()
