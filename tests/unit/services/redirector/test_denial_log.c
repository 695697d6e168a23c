#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <stdio.h>

#include "lib/base/clock.h"
#include "services/redirector/denial_log.h"

#define NOW_US (1000 * CLOCK_US_PER_S)

static void knows_what_was_denied_within_the_minute(void **state)
{
	(void)state;
	struct denial_log *log = denial_log_new();
	assert_false(denial_log_has(log, "abc", 3, NOW_US));
	denial_log_note(log, "abc", 3, NOW_US);
	assert_true(denial_log_has(log, "abc", 3, NOW_US));
	assert_true(denial_log_has(log, "abc", 3, NOW_US + 59 * CLOCK_US_PER_S));
	assert_false(denial_log_has(log, "abc", 3, NOW_US + 62 * CLOCK_US_PER_S));
	denial_log_free(log);
}

static void takes_few_slugs_for_others(void **state)
{
	(void)state;
	struct denial_log *log = denial_log_new();
	char slug[16];
	unsigned mistaken = 0;
	for (unsigned i = 0; i < 20000; i++) {
		int len = snprintf(slug, sizeof(slug), "denied-%u", i);
		denial_log_note(log, slug, (size_t)len, NOW_US);
	}
	for (unsigned i = 0; i < 20000; i++) {
		int len = snprintf(slug, sizeof(slug), "other-%u", i);
		mistaken += denial_log_has(log, slug, (size_t)len, NOW_US);
	}
	assert_in_range(mistaken, 0, 2);
	denial_log_free(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_what_was_denied_within_the_minute),
		cmocka_unit_test(takes_few_slugs_for_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
