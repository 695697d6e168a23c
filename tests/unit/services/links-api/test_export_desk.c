#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include "services/links-api/stats/export_desk.h"

static void an_account_has_few_places_and_gets_them_back(void **state)
{
	(void)state;
	struct export_desk *desk = export_desk_new();
	for (int i = 0; i < EXPORT_DESK_MAX_PER_USER; i++)
		assert_int_equal(export_desk_begin(desk, 7), OK);
	assert_int_equal(export_desk_begin(desk, 7), ERR_LIMIT);
	assert_int_equal(export_desk_begin(desk, 8), OK);
	export_desk_end(desk, 7);
	assert_int_equal(export_desk_begin(desk, 7), OK);
	assert_int_equal(export_desk_begin(desk, 7), ERR_LIMIT);
	export_desk_free(desk);
}

static void all_accounts_together_have_so_many(void **state)
{
	(void)state;
	struct export_desk *desk = export_desk_new();
	for (int64_t i = 0; i < EXPORT_DESK_MAX; i++)
		assert_int_equal(export_desk_begin(desk, i + 1), OK);
	assert_int_equal(export_desk_begin(desk, 99), ERR_LIMIT);
	export_desk_end(desk, 5);
	assert_int_equal(export_desk_begin(desk, 99), OK);
	export_desk_free(desk);
	export_desk_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_account_has_few_places_and_gets_them_back),
		cmocka_unit_test(all_accounts_together_have_so_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
