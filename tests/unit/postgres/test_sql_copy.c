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

TEST_CASE(begins_only_the_first_part_with_the_signature)
{
	static const char first[] = SIGNATURE "\0\1\0\0\0\1\1";
	static const char last[] = "\0\1\0\0\0\1\0\xff\xff";
	struct sql_copy copy;
	sql_copy_init(&copy, 14);
	for (int i = 0; i < 2; i++) {
		sql_copy_reset(&copy);
		sql_copy_begin_row(&copy, 1);
		sql_copy_add_bool(&copy, true);
		assert_int_equal(copy.len, sizeof(first) - 1);
		assert_memory_equal(copy.bytes, first, copy.len);
		sql_copy_next_part(&copy);
		sql_copy_begin_row(&copy, 1);
		sql_copy_add_bool(&copy, false);
		assert_int_equal(sql_copy_finish(&copy), OK);
		assert_int_equal(copy.len, sizeof(last) - 1);
		assert_memory_equal(copy.bytes, last, copy.len);
	}
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
