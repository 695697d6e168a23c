#include "lib/clicks/rollup_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "tests/support/test.h"

#define LIST_BYTES_MAX 1000000

struct fixture {
	struct rollup_list_sum sum;
	struct strbuf out;
	size_t entries;
	/* The lists are borrowed until they are written. */
	char *lists[8];
	size_t count;
};

static int set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	strbuf_init(&f->out, LIST_BYTES_MAX);
	*state = f;
	return 0;
}

static void empty(struct fixture *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->lists[i]);
	f->count = 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	empty(f);
	rollup_list_sum_clear(&f->sum);
	strbuf_clear(&f->out);
	free(f);
	return 0;
}

static void swap(char *text, const char *from, const char *to)
{
	for (; *text != '\0'; text++)
		for (size_t i = 0; i < 2; i++)
			if (*text == from[i]) {
				*text = to[i];
				break;
			}
}

/* readable is "humans|bots|uniques|value;…". */
static enum err add(struct fixture *f, const char *readable)
{
	char *list = f->lists[f->count++] = mem_text(readable);
	swap(list, ";|", "\x1e\x1f");
	return rollup_list_sum_add(&f->sum, list);
}

static void assert_sum(struct fixture *f, const char *readable, size_t entries)
{
	assert_int_equal(rollup_list_sum_write(&f->sum, &f->out, &f->entries), OK);
	swap(f->out.data, "\x1e\x1f", ";|");
	assert_string_equal(f->out.data, readable);
	assert_int_equal(f->entries, entries);
	empty(f);
}

TEST_CASE(adds_the_counts_of_each_value)
{
	struct fixture *f = *state;
	assert_int_equal(add(f, "1|0|1|DE;2|3|0|FR"), OK);
	assert_int_equal(add(f, ""), OK);
	assert_int_equal(add(f, "5|0|2|DE;1|1|1|AT;1|0|0|D"), OK);
	assert_sum(f, "1|1|1|AT;1|0|0|D;6|0|3|DE;2|3|0|FR", 4);
	assert_int_equal(f->sum.totals.humans, 10);
	assert_int_equal(f->sum.totals.bots, 4);
	assert_int_equal(f->sum.totals.uniques, 4);
	assert_sum(f, "", 0);
	assert_int_equal(f->sum.totals.humans, 0);
}

TEST_CASE(leaves_out_what_was_subtracted)
{
	struct fixture *f = *state;
	assert_int_equal(add(f, "4|1|1|DE;2|3|0|FR"), OK);
	assert_int_equal(add(f, "-4|-1|-1|DE;-1|0|0|FR"), OK);
	assert_sum(f, "1|3|0|FR", 1);
}

TEST_CASE(takes_from_other_what_a_list_does_not_name)
{
	struct fixture *f = *state;
	assert_int_equal(add(f, "4|0|0|(other);2|0|0|FR"), OK);
	assert_int_equal(add(f, "-1|0|0|DE;-3|0|0|FR"), OK);
	assert_sum(f, "2|0|0|(other)", 1);
}

TEST_CASE(keeps_what_an_exact_list_owes_under_its_own_value)
{
	struct fixture *f = *state;
	f->sum.is_exact = true;
	assert_int_equal(add(f, "4|0|0|7"), OK);
	assert_int_equal(add(f, "-10|0|0|9"), OK);
	assert_sum(f, "4|0|0|7;-10|0|0|9", 2);
	assert_int_equal(add(f, "4|0|0|7;-10|0|0|9"), OK);
	assert_int_equal(add(f, "10|0|0|9"), OK);
	assert_sum(f, "4|0|0|7", 1);
}

TEST_CASE(keeps_the_values_that_count_most_and_counts_the_rest_as_other)
{
	struct fixture *f = *state;
	struct strbuf list;
	strbuf_init(&list, LIST_BYTES_MAX);
	for (int i = 0; i < 1500; i++)
		strbuf_add_format(&list, "%s%d|0|0|%04d", i == 0 ? "" : ";", 1 + (i >= 800), i);
	assert_int_equal(add(f, list.data), OK);
	assert_int_equal(add(f, "7|1|0|(other);9|9|9|new"), OK);
	assert_int_equal(rollup_list_sum_write(&f->sum, &f->out, &f->entries), OK);
	assert_int_equal(f->entries, ROLLUP_LIST_VALUES_MAX + 1);
	swap(f->out.data, "\x1e\x1f", ";|");
	/* new, the 700 that count twice, and the first 299 of the others. */
	assert_memory_equal(f->out.data, "1|0|0|0000;1|0|0|0001;", 22);
	assert_non_null(strstr(f->out.data, "1|0|0|0298;2|0|0|0800;"));
	assert_non_null(strstr(f->out.data, ";9|9|9|new;508|1|0|(other)"));
	assert_int_equal(f->sum.totals.humans, 800 + 2 * 700 + 7 + 9);
	strbuf_clear(&list);
}

TEST_CASE(refuses_broken_lists_and_impossible_counts)
{
	static const char *const broken[] = { "x",        "1|2|DE", "1|2|3|DE;", "1|2|3|DE|FR",
		                              "1|-|3|DE", "1|2|3",  ";",         "1 |2|3|DE" };
	struct fixture *f = *state;
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		assert_int_equal(add(f, broken[i]), ERR_INVALID);
		(void)!rollup_list_sum_write(&f->sum, &f->out, &f->entries);
		empty(f);
	}
	assert_int_equal(add(f, "999999999999999999|0|0|DE"), OK);
	assert_int_equal(add(f, "1|0|0|DE"), OK);
	assert_int_equal(rollup_list_sum_write(&f->sum, &f->out, &f->entries), ERR_INVALID);
	assert_int_equal(rollup_list_sum_write(&f->sum, &f->out, &f->entries), OK);
	assert_int_equal(f->entries, 0);
}

TEST_MAIN(.set_up = set_up, .tear_down = tear_down)
