#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/analytics-consumer/storage/batch.h"
#include "tests/support/test.h"

#define NOW_US INT64_C(1800000000000000)
#define VISITS_MAX 4

struct fixture {
	struct enrich *enrich;
	struct batch batch;
	struct offsets offsets;
	/* Stored up to 100. */
	struct offsets_partition *partition;
	struct strbuf encoded;
};

static const struct kafka_message *message_at(struct fixture *f, struct kafka_message *m,
                                              int64_t offset, int64_t occurred_at_us)
{
	struct redirect_event click = { .event_id = { 1 },
		                        .occurred_at_us = occurred_at_us,
		                        .link_id = 1,
		                        .link_version = 1,
		                        .status = 302,
		                        .method = REDIRECT_METHOD_GET,
		                        .slug = "abc" };
	strbuf_reset(&f->encoded);
	redirect_event_encode(&click, &f->encoded);
	*m = (struct kafka_message){ .offset = offset,
		                     .value = f->encoded.data,
		                     .value_len = f->encoded.len };
	return m;
}

static void add_click(struct fixture *f, int64_t offset, int64_t occurred_at_us)
{
	struct kafka_message m;
	batch_add(&f->batch, f->enrich, message_at(f, &m, offset, occurred_at_us), f->partition,
	          NOW_US);
}

static void add_bytes(struct fixture *f, int64_t offset, const void *bytes, size_t len)
{
	const struct kafka_message m = { .offset = offset, .value = bytes, .value_len = len };
	batch_add(&f->batch, f->enrich, &m, f->partition, NOW_US);
}

static int set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	const struct enrich_config facts = {
		.geoip_db = "", .ua_regexes = "", .user_agent_cache = 10, .check_ms = 60000
	};
	const struct offsets_partition row = { .stored = 100, .published = 90 };
	if (enrich_open(&facts, &f->enrich) != OK)
		return -1;
	batch_init(&f->batch, VISITS_MAX, "redirects", "dead-letters");
	offsets_assign(&f->offsets, &row, 1);
	f->partition = &f->offsets.partitions[0];
	strbuf_init(&f->encoded, REDIRECT_EVENT_BYTES_MAX);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	batch_clear(&f->batch);
	offsets_clear(&f->offsets);
	enrich_close(f->enrich);
	strbuf_clear(&f->encoded);
	free(f);
	return 0;
}

TEST_CASE(accepts_clicks_until_it_is_full)
{
	struct fixture *f = *state;
	assert_true(batch_is_empty(&f->batch));
	for (int i = 0; i < VISITS_MAX; i++) {
		assert_false(batch_is_full(&f->batch));
		add_click(f, 100 + i, NOW_US);
	}
	assert_true(batch_is_full(&f->batch));
	assert_int_equal(f->batch.count, VISITS_MAX);
	assert_int_equal(f->partition->next_stored, 100 + VISITS_MAX);
	assert_int_equal(batch_sum(&f->batch).bots, VISITS_MAX);
	batch_reset(&f->batch);
	assert_true(batch_is_empty(&f->batch));
}

TEST_CASE(is_as_recent_as_its_newest_click_but_never_in_the_future)
{
	struct fixture *f = *state;
	add_click(f, 100, NOW_US - 5);
	assert_int_equal(f->partition->as_of_us, NOW_US - 5);
	add_click(f, 101, NOW_US - 9);
	assert_int_equal(f->partition->as_of_us, NOW_US - 5);
	add_click(f, 102, NOW_US + 1000);
	assert_int_equal(f->partition->as_of_us, NOW_US);
}

TEST_CASE(marks_clicks_before_the_stored_offset_as_already_counted)
{
	struct fixture *f = *state;
	add_click(f, 90, NOW_US);
	add_click(f, 100, NOW_US);
	assert_int_equal(f->batch.visits[0].disposition, VISIT_ALREADY_COUNTED);
	assert_int_equal(f->batch.visits[1].disposition, VISIT_NEW);
	assert_int_equal(f->partition->next_stored, 101);
}

TEST_CASE(adds_a_dead_letter_for_each_message_that_is_not_a_click)
{
	struct fixture *f = *state;
	add_bytes(f, 100, "", 0);
	add_bytes(f, 101, NULL, 0);
	add_bytes(f, 102, "\xff\xff\xff", 3);
	assert_int_equal(f->batch.count, 0);
	assert_int_equal(batch_sum(&f->batch).poisoned, 3);
	assert_int_equal(f->partition->next_stored, 103);
	assert_false(batch_is_empty(&f->batch));
}

TEST_CASE(adds_no_second_dead_letter_before_the_stored_offset)
{
	struct fixture *f = *state;
	add_bytes(f, 95, "\xff", 1);
	assert_int_equal(batch_sum(&f->batch).poisoned, 0);
	assert_int_equal(f->partition->next_stored, 100);
}

TEST_CASE(is_full_when_dead_letters_reach_their_limit)
{
	struct fixture *f = *state;
	batch_clear(&f->batch);
	batch_init(&f->batch, 1000, "redirects", "dead-letters");
	static char megabyte[1024 * 1024];
	int64_t offset = 100;
	while (!batch_is_full(&f->batch))
		add_bytes(f, offset++, megabyte, sizeof(megabyte));
	assert_in_range(offset - 100, 5, 20);
}

TEST_MAIN(.set_up = set_up, .tear_down = tear_down)
