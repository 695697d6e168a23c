#include <stdint.h>
#include <string.h>

#include "lib/postgres/pg_params.h"
#include "tests/support/test.h"

TEST_CASE(keeps_parameters_in_order)
{
	struct pg_params p = { 0 };
	pg_params_text(&p, "slug");
	pg_params_int(&p, INT64_MIN);
	pg_params_bool(&p, true);
	pg_params_null(&p);
	pg_params_time(&p, INT64_C(1795161600123456));
	pg_params_day(&p, 20777);
	assert_int_equal(p.count, 6);
	assert_string_equal(p.values[0], "slug");
	assert_string_equal(p.values[1], "-9223372036854775808");
	assert_string_equal(p.values[2], "t");
	assert_null(p.values[3]);
	assert_string_equal(p.values[4], "2026-11-20T08:00:00.123456Z");
	assert_string_equal(p.values[5], "2026-11-20");
}

TEST_CASE(sends_bytes_in_binary_format)
{
	struct pg_params p = { 0 };
	const uint8_t bytes[] = { 0, 1, 255 };
	pg_params_bytes(&p, bytes, sizeof(bytes));
	assert_int_equal(p.lengths[0], 3);
	assert_int_equal(p.formats[0], 1);
	assert_memory_equal(p.values[0], bytes, sizeof(bytes));
}

TEST_CASE(maps_missing_values_to_null)
{
	struct pg_params p = { 0 };
	pg_params_time_or_null(&p, 0);
	pg_params_bytes(&p, NULL, 0);
	assert_null(p.values[0]);
	assert_null(p.values[1]);
}

TEST_CASE(remembers_too_many_parameters)
{
	struct pg_params p = { 0 };
	for (int i = 0; i < PG_PARAMS_MAX; i++)
		pg_params_int(&p, i);
	assert_int_equal(p.count, PG_PARAMS_MAX);
	assert_string_equal(p.values[PG_PARAMS_MAX - 1], "47");
	for (int i = 0; i < 3; i++)
		pg_params_int(&p, i);
	assert_int_equal(p.count, PG_PARAMS_MAX + 1);
}

TEST_MAIN()
