#include <stdint.h>

#include "services/links-api/stats/export_limiter.h"
#include "tests/support/test.h"

static void limits_the_exports_of_one_user_and_allows_more_after_one_ends(void **state)
{
	(void)state;
	struct export_limiter *limiter = export_limiter_new();
	for (int i = 0; i < EXPORT_LIMITER_MAX_PER_USER; i++)
		assert_int_equal(export_limiter_acquire(limiter, 7), OK);
	assert_int_equal(export_limiter_acquire(limiter, 7), ERR_LIMIT);
	assert_int_equal(export_limiter_acquire(limiter, 8), OK);
	export_limiter_release(limiter, 7);
	assert_int_equal(export_limiter_acquire(limiter, 7), OK);
	assert_int_equal(export_limiter_acquire(limiter, 7), ERR_LIMIT);
	export_limiter_free(limiter);
}

static void limits_the_exports_of_all_users_together(void **state)
{
	(void)state;
	struct export_limiter *limiter = export_limiter_new();
	for (int64_t i = 0; i < EXPORT_LIMITER_MAX; i++)
		assert_int_equal(export_limiter_acquire(limiter, i + 1), OK);
	assert_int_equal(export_limiter_acquire(limiter, 99), ERR_LIMIT);
	export_limiter_release(limiter, 5);
	assert_int_equal(export_limiter_acquire(limiter, 99), OK);
	export_limiter_free(limiter);
	export_limiter_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_the_exports_of_one_user_and_allows_more_after_one_ends),
		cmocka_unit_test(limits_the_exports_of_all_users_together),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
