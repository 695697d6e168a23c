#include <stdio.h>
#include <string.h>

#include "services/redirector/gate/link_cookie.h"
#include "tests/support/test.h"

#define HASH "$2b$10$abcdefghijklmnopqrstuuBzzIgyKkz7xMWYSzkIjUSnxEQFQ0WNe"
#define OTHER_HASH "$2b$10$abcdefghijklmnopqrstuuBzzIgyKkz7xMWYSzkIjUSnxEQFQ0WNf"
#define LINK 7
#define NOW INT64_C(1767225600)
#define EXPIRES (NOW + LINK_COOKIE_MAX_AGE_S)

static bool is_valid(const char *value)
{
	return link_cookie_is_valid(value, LINK, HASH, NOW);
}

TEST_CASE(opens_its_link_until_it_expires)
{
	char cookie[LINK_COOKIE_SIZE];
	link_cookie_make(LINK, HASH, EXPIRES, cookie);
	assert_memory_equal(cookie, "1767229200.", 11);
	assert_int_equal(strlen(cookie), 11 + 64);
	assert_true(is_valid(cookie));
	assert_true(link_cookie_is_valid(cookie, LINK, HASH, EXPIRES - 1));
	assert_false(link_cookie_is_valid(cookie, LINK, HASH, EXPIRES));
}

TEST_CASE(opens_no_other_link_and_ends_with_the_password)
{
	char cookie[LINK_COOKIE_SIZE];
	link_cookie_make(LINK, HASH, EXPIRES, cookie);
	assert_false(link_cookie_is_valid(cookie, LINK + 1, HASH, NOW));
	assert_false(link_cookie_is_valid(cookie, -LINK, HASH, NOW));
	assert_false(link_cookie_is_valid(cookie, LINK, OTHER_HASH, NOW));
	assert_false(link_cookie_is_valid(cookie, LINK, "", NOW));
}

/* "7" and "1…" are not "71" and "…". */
TEST_CASE(link_and_time_are_signed_apart)
{
	char cookie[LINK_COOKIE_SIZE], moved[LINK_COOKIE_SIZE];
	link_cookie_make(71, HASH, 7672292000, cookie);
	snprintf(moved, sizeof(moved), "17672292000%s", strchr(cookie, '.'));
	assert_false(is_valid(moved));
}

TEST_CASE(has_no_other_spelling)
{
	char cookie[LINK_COOKIE_SIZE], other[2 * LINK_COOKIE_SIZE];
	link_cookie_make(LINK, HASH, EXPIRES, cookie);
	for (size_t len = 0; len < strlen(cookie); len++) {
		snprintf(other, sizeof(other), "%.*s", (int)len, cookie);
		assert_false(is_valid(other));
		snprintf(other, sizeof(other), "%s", cookie);
		other[len] ^= 1;
		assert_false(is_valid(other));
		snprintf(other, sizeof(other), "%.*s %s", (int)len, cookie, cookie + len);
		assert_false(is_valid(other));
	}
	const char *const around[][2] = { { "", "0" }, { "", " " }, { "0", "" },
		                          { "+", "" }, { " ", "" }, { "\"", "\"" },
		                          { "-", "" }, { "", "=" }, { "", ".00" } };
	for (size_t i = 0; i < sizeof(around) / sizeof(around[0]); i++) {
		snprintf(other, sizeof(other), "%s%s%s", around[i][0], cookie, around[i][1]);
		assert_false(is_valid(other));
	}
	for (char *c = cookie; *c; c++)
		*c = (char)(*c >= 'a' && *c <= 'f' ? *c - 'a' + 'A' : *c);
	assert_false(is_valid(cookie));
}

TEST_CASE(anything_else_is_refused)
{
	char longer[300];
	memset(longer, '9', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	const char *const values[] = { "",
		                       ".",
		                       "..",
		                       "1",
		                       "1767229200",
		                       "1767229200.",
		                       "99999999999999999999.00",
		                       "9223372036854775808.0",
		                       "9223372036854775807.0",
		                       "\xff.\xff",
		                       longer };
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		assert_false(is_valid(values[i]));
}

TEST_MAIN()
