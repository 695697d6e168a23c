#include <stdint.h>
#include <stdio.h>

#include "services/redirector/redirect.h"
#include "tests/support/test.h"

#define NOW INT64_C(1795161600000000)

static struct link_entry entry_of(enum link_state state, int64_t expires_at_us,
                                  const char *expired_url)
{
	struct link_entry entry = {
		.id = 7,
		.version = 3,
		.expires_at_us = expires_at_us,
		.state = state,
		.redirect_status = 307,
		.slug = "abc",
		.original_url = "https://example.com/landing",
	};
	snprintf(entry.expired_url, sizeof(entry.expired_url), "%s", expired_url);
	return entry;
}

static void assert_decides(const struct link_entry *entry, unsigned status, const char *location)
{
	struct redirect_decision decision = redirect_decide(OK, entry, NOW);
	assert_int_equal(decision.status, status);
	if (location)
		assert_string_equal(decision.location, location);
	else
		assert_null(decision.location);
}

TEST_CASE(redirects_an_active_link_with_its_own_status)
{
	struct link_entry entry = entry_of(LINK_STATE_ACTIVE, 0, "");
	for (int status = 301; status <= 308; status++) {
		entry.redirect_status = (uint16_t)status;
		assert_decides(&entry, (unsigned)status, "https://example.com/landing");
	}
}

TEST_CASE(redirects_until_the_last_microsecond_before_the_expiry)
{
	struct link_entry entry = entry_of(LINK_STATE_ACTIVE, NOW + 1, "");
	assert_decides(&entry, 307, "https://example.com/landing");
}

TEST_CASE(is_gone_at_the_microsecond_of_the_expiry)
{
	struct link_entry entry = entry_of(LINK_STATE_ACTIVE, NOW, "");
	assert_decides(&entry, 410, NULL);
	entry.expires_at_us = NOW - 1;
	assert_decides(&entry, 410, NULL);
}

TEST_CASE(is_gone_when_the_janitor_has_marked_it_expired)
{
	struct link_entry entry = entry_of(LINK_STATE_EXPIRED, 0, "");
	assert_decides(&entry, 410, NULL);
}

TEST_CASE(redirects_an_expired_link_to_its_expired_url_with_302)
{
	struct link_entry marked =
		entry_of(LINK_STATE_EXPIRED, NOW - 5, "https://example.com/over");
	struct link_entry unmarked = entry_of(LINK_STATE_ACTIVE, NOW, "https://example.com/over");
	assert_decides(&marked, 302, "https://example.com/over");
	assert_decides(&unmarked, 302, "https://example.com/over");
}

TEST_CASE(disabled_and_deleted_links_are_404_even_with_an_expired_url)
{
	struct link_entry disabled =
		entry_of(LINK_STATE_DISABLED, NOW - 5, "https://example.com/over");
	struct link_entry deleted =
		entry_of(LINK_STATE_DELETED, NOW - 5, "https://example.com/over");
	assert_decides(&disabled, 404, NULL);
	assert_decides(&deleted, 404, NULL);
}

TEST_CASE(is_404_until_the_last_microsecond_before_the_start)
{
	struct link_entry entry = entry_of(LINK_STATE_ACTIVE, 0, "https://example.com/over");
	entry.starts_at_us = NOW + 1;
	assert_decides(&entry, 404, NULL);
	entry.starts_at_us = NOW;
	assert_decides(&entry, 307, "https://example.com/landing");
}

TEST_CASE(unknown_slugs_are_404)
{
	const struct link_entry left_over = entry_of(LINK_STATE_ACTIVE, 0, "");
	assert_int_equal(redirect_decide(ERR_NOT_FOUND, &left_over, NOW).status, 404);
	assert_null(redirect_decide(ERR_NOT_FOUND, &left_over, NOW).location);
}

TEST_CASE(a_failed_lookup_is_503_and_never_404)
{
	const struct link_entry left_over = entry_of(LINK_STATE_ACTIVE, 0, "");
	const enum err failures[] = { ERR_UNAVAILABLE, ERR_LIMIT, ERR_INTERNAL };
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++)
		assert_int_equal(redirect_decide(failures[i], &left_over, NOW).status, 503);
}

TEST_MAIN()
