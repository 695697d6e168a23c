#include <stdint.h>
#include <string.h>

#include "lib/postgres/sql_copy.h"
#include "tests/support/test.h"

#define SIGNATURE "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0"

TEST_CASE(writes_rows_in_the_binary_format)
{
	static const char expected[] = SIGNATURE "\0\6"
						 "\0\0\0\2\xff\xfe"
						 "\0\0\0\4\0\0\0\7"
						 "\0\0\0\1\1"
						 "\0\0\0\2hi"
						 "\0\0\0\0"
						 "\xff\xff\xff\xff"
						 "\0\2"
						 "\0\0\0\4\0\0\0\1"
						 "\0\0\0\x8\0\0\0\0\0\0\0\5"
						 "\xff\xff";
	struct sql_copy copy;
	sql_copy_init(&copy, 200);
	sql_copy_begin_row(&copy, 1);
	sql_copy_reset(&copy);
	sql_copy_begin_row(&copy, 6);
	sql_copy_add_int2(&copy, -2);
	sql_copy_add_int4(&copy, 7);
	sql_copy_add_bool(&copy, true);
	sql_copy_add_text(&copy, "hi");
	sql_copy_add_bytes(&copy, NULL, 0);
	sql_copy_add_null(&copy);
	sql_copy_begin_row(&copy, 2);
	sql_copy_add_day(&copy, 10958);
	sql_copy_add_time(&copy, INT64_C(946684800000005));
	assert_int_equal(sql_copy_finish(&copy), OK);
	assert_int_equal(copy.len, sizeof(expected) - 1);
	assert_memory_equal(copy.bytes, expected, copy.len);
	sql_copy_clear(&copy);
}

TEST_CASE(rejects_more_than_its_maximum)
{
	struct sql_copy copy;
	sql_copy_init(&copy, 14);
	sql_copy_begin_row(&copy, 1);
	sql_copy_add_int8(&copy, 1);
	assert_int_equal(sql_copy_finish(&copy), OK);
	sql_copy_reset(&copy);
	sql_copy_begin_row(&copy, 1);
	sql_copy_add_text(&copy, "123456789");
	sql_copy_add_text(&copy, "1");
	assert_int_equal(sql_copy_finish(&copy), ERR_LIMIT);
	sql_copy_clear(&copy);
}

TEST_MAIN()
