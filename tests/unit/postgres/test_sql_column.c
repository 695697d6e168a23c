#include <stdint.h>

#include "lib/postgres/sql_column.h"
#include "tests/support/test.h"

static void assert_bytes(struct sql_column *column, const char *bytes, size_t len)
{
	struct pg_params params = { 0 };
	assert_int_equal(sql_column_param(column, &params), OK);
	assert_int_equal(params.count, 1);
	assert_int_equal(params.lengths[0], len);
	assert_memory_equal(params.values[0], bytes, len);
	sql_column_clear(column);
}

/*
 * The format of PostgreSQL's array_recv: one dimension, no NULL, the type, the length, the lower
 * bound 1.
 */
#define HEADER(type, length) "\0\0\0\1\0\0\0\0" type "\0\0\0" length "\0\0\0\1"

TEST_CASE(writes_an_empty_array)
{
	struct sql_column c;
	sql_column_init(&c, SQL_COLUMN_TEXT, 100);
	assert_bytes(&c, HEADER("\0\0\0\x19", "\0"), 20);
}

TEST_CASE(writes_numbers_in_their_width)
{
	struct sql_column c;
	sql_column_init(&c, SQL_COLUMN_INT2, 100);
	sql_column_add_int(&c, 258);
	assert_bytes(&c, HEADER("\0\0\0\x15", "\1") "\0\0\0\2\1\2", 26);
	sql_column_init(&c, SQL_COLUMN_INT4, 100);
	sql_column_add_int(&c, -2);
	assert_bytes(&c, HEADER("\0\0\0\x17", "\1") "\0\0\0\4\xff\xff\xff\xfe", 28);
	sql_column_init(&c, SQL_COLUMN_INT8, 100);
	sql_column_add_int(&c, 1);
	sql_column_add_int(&c, INT64_MIN);
	assert_bytes(&c,
	             HEADER("\0\0\0\x14", "\2") "\0\0\0\10\0\0\0\0\0\0\0\1"
	                                        "\0\0\0\10\x80\0\0\0\0\0\0\0",
	             44);
}

TEST_CASE(writes_texts_and_bytes)
{
	struct sql_column c;
	sql_column_init(&c, SQL_COLUMN_TEXT, 100);
	sql_column_add_text(&c, "ab");
	sql_column_add_text(&c, "");
	assert_bytes(&c, HEADER("\0\0\0\x19", "\2") "\0\0\0\2ab\0\0\0\0", 30);
	sql_column_init(&c, SQL_COLUMN_TEXT, 100);
	sql_column_add_text(&c, NULL);
	assert_bytes(&c,
	             "\0\0\0\1\0\0\0\1\0\0\0\x19\0\0\0\1\0\0\0\1"
	             "\xff\xff\xff\xff",
	             24);
	sql_column_init(&c, SQL_COLUMN_BYTES, 100);
	sql_column_add_bytes(&c, "\0\1", 2);
	assert_bytes(&c, HEADER("\0\0\0\x11", "\1") "\0\0\0\2\0\1", 26);
}

TEST_CASE(counts_time_from_the_year_2000)
{
	struct sql_column c;
	sql_column_init(&c, SQL_COLUMN_DATE, 100);
	sql_column_add_day(&c, 10958);
	assert_bytes(&c, HEADER("\0\0\4\x3a", "\1") "\0\0\0\4\0\0\0\1", 28);
	sql_column_init(&c, SQL_COLUMN_TIME, 100);
	sql_column_add_time(&c, INT64_C(946684800000001));
	assert_bytes(&c, HEADER("\0\0\4\xa0", "\1") "\0\0\0\10\0\0\0\0\0\0\0\1", 32);
}

TEST_CASE(starts_empty_after_a_reset)
{
	struct sql_column c;
	sql_column_init(&c, SQL_COLUMN_TEXT, 100);
	sql_column_add_text(&c, "ab");
	sql_column_reset(&c);
	assert_bytes(&c, HEADER("\0\0\0\x19", "\0"), 20);
}

TEST_CASE(rejects_more_than_its_maximum)
{
	struct sql_column c;
	struct pg_params params = { 0 };
	sql_column_init(&c, SQL_COLUMN_TEXT, 25);
	sql_column_add_text(&c, "abc");
	assert_int_equal(sql_column_param(&c, &params), ERR_LIMIT);
	assert_int_equal(params.count, 0);
	sql_column_clear(&c);
}

TEST_MAIN()
