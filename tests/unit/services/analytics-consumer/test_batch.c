#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/visitors/visitor_facts.h"
#include "services/analytics-consumer/storage/batch.h"
#include "tests/support/click_batch.h"
#include "tests/support/test.h"

#define NOW_US INT64_C(1800000000000000)
#define VISITS_MAX 4
#define CLICKS_MAX 10

struct fixture {
	struct visitor_facts *visitor;
	struct enrich *enrich;
	struct batch batch;
	struct offsets offsets;
	/* Stored up to record 100 and published up to record 90. */
	struct offsets_partition *partition;
	struct strbuf encoded;
	struct batch_record record;
};

/* As the ingest loop does with a record. */
static void add_bytes(struct fixture *f, int64_t offset, const void *bytes, size_t len)
{
	const struct kafka_message m = { .offset = offset, .value = bytes, .value_len = len };
	batch_open(&f->batch, &m, f->partition, &f->record);
	if (f->record.is_open)
		batch_add(&f->batch, f->enrich, &f->record, f->partition, NOW_US);
}

/* A record with clicks on the links 1 to count. That on link `bad` has no version. */
static void add_clicks(struct fixture *f, int64_t offset, size_t count, size_t bad,
                       int64_t occurred_at_us)
{
	struct redirect_event clicks[CLICKS_MAX];
	for (size_t i = 0; i < count; i++)
		clicks[i] = (struct redirect_event){ .event_id = { 1 },
			                             .occurred_at_us = occurred_at_us,
			                             .link_id = (int64_t)i + 1,
			                             .link_version = i + 1 != bad,
			                             .status = 302,
			                             .method = REDIRECT_METHOD_GET,
			                             .slug = "abc" };
	strbuf_reset(&f->encoded);
	click_batch_encode(clicks, count, &f->encoded);
	add_bytes(f, offset, f->encoded.data, f->encoded.len);
}

static void add_click(struct fixture *f, int64_t offset, int64_t occurred_at_us)
{
	add_clicks(f, offset, 1, 0, occurred_at_us);
}

/* The next batch continues the record. */
static void continue_record(struct fixture *f)
{
	struct offsets handed_over = { 0 };
	assert_true(batch_is_full(&f->batch));
	assert_true(f->record.is_open);
	offsets_hand_over(&f->offsets, &handed_over);
	offsets_clear(&handed_over);
	batch_reset(&f->batch);
	batch_add(&f->batch, f->enrich, &f->record, f->partition, NOW_US);
}

static void set_stored(struct fixture *f, int64_t stored, int64_t published)
{
	f->partition->stored = stored;
	f->partition->published = published;
	offsets_begin_batch(&f->offsets);
}

static void assert_visits(const struct fixture *f, int64_t first_link, size_t count)
{
	assert_int_equal(f->batch.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(f->batch.visits[i].event.link_id, first_link + (int64_t)i);
}

static int set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	const struct visitor_facts_config facts = {
		.geoip_db = "", .ua_regexes = "", .user_agent_cache = 10, .check_ms = 60000
	};
	const struct offsets_partition row = { .stored = offsets_position(100, 0),
		                               .published = offsets_position(90, 0) };
	if (visitor_facts_open(&facts, &f->visitor) != OK)
		return -1;
	f->enrich = enrich_new(f->visitor);
	batch_init(&f->batch, VISITS_MAX, "redirects", "dead-letters");
	offsets_assign(&f->offsets, &row, 1);
	f->partition = &f->offsets.partitions[0];
	strbuf_init(&f->encoded, (size_t)CLICKS_MAX * REDIRECT_EVENT_BYTES_MAX);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	batch_clear(&f->batch);
	offsets_clear(&f->offsets);
	enrich_free(f->enrich);
	visitor_facts_close(f->visitor);
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
	assert_int_equal(f->partition->next_stored, offsets_position(100 + VISITS_MAX, 0));
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
	assert_int_equal(f->partition->next_stored, offsets_position(101, 0));
}

TEST_CASE(takes_a_record_that_is_longer_than_a_batch_in_parts)
{
	struct fixture *f = *state;
	add_clicks(f, 100, 10, 0, NOW_US);
	assert_visits(f, 1, 4);
	assert_int_equal(f->partition->next_stored, offsets_position(100, 4));
	continue_record(f);
	assert_visits(f, 5, 4);
	assert_int_equal(f->partition->first, offsets_position(100, 4));
	assert_int_equal(f->partition->next_stored, offsets_position(100, 8));
	continue_record(f);
	assert_visits(f, 9, 2);
	assert_int_equal(f->partition->next_stored, offsets_position(101, 0));
	assert_false(f->record.is_open);
	assert_false(batch_is_full(&f->batch));
}

TEST_CASE(closes_a_record_that_fills_the_batch_to_the_last_event)
{
	struct fixture *f = *state;
	add_clicks(f, 100, VISITS_MAX, 0, NOW_US);
	assert_true(batch_is_full(&f->batch));
	assert_false(f->record.is_open);
	assert_int_equal(f->partition->next_stored, offsets_position(101, 0));
}

/* A new owner of a record of which the one before counted six events and published two. */
TEST_CASE(continues_in_the_middle_of_a_record)
{
	struct fixture *f = *state;
	set_stored(f, offsets_position(100, 6), offsets_position(100, 2));
	add_clicks(f, 100, 10, 0, NOW_US);
	assert_visits(f, 3, 4);
	assert_int_equal(f->partition->first, offsets_position(100, 2));
	assert_int_equal(f->partition->next_stored, offsets_position(100, 6));
	assert_int_equal(f->partition->next_published, offsets_position(100, 6));
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(f->batch.visits[i].disposition, VISIT_ALREADY_COUNTED);
	continue_record(f);
	assert_visits(f, 7, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(f->batch.visits[i].disposition, VISIT_NEW);
	assert_int_equal(f->partition->next_stored, offsets_position(101, 0));
}

TEST_CASE(takes_nothing_of_a_record_that_is_read_only_to_verify_it)
{
	struct fixture *f = *state;
	set_stored(f, offsets_position(100, 0), offsets_position(100, 0));
	add_clicks(f, 99, 3, 0, NOW_US);
	add_bytes(f, 99, "\xff", 1);
	assert_true(batch_is_empty(&f->batch));
	assert_false(f->record.is_open);
	assert_int_equal(f->partition->first, -1);
	assert_false(offsets_any_advanced(&f->offsets));
}

TEST_CASE(sets_an_event_apart_that_is_no_click)
{
	struct fixture *f = *state;
	add_clicks(f, 100, 3, 2, NOW_US);
	assert_int_equal(f->batch.count, 2);
	assert_int_equal(f->batch.visits[0].event.link_id, 1);
	assert_int_equal(f->batch.visits[1].event.link_id, 3);
	assert_int_equal(batch_sum(&f->batch).poisoned, 1);
	assert_int_equal(f->partition->next_stored, offsets_position(101, 0));
}

TEST_CASE(sets_an_event_apart_once)
{
	struct fixture *f = *state;
	set_stored(f, offsets_position(100, 3), offsets_position(100, 0));
	add_clicks(f, 100, 4, 2, NOW_US);
	assert_int_equal(f->batch.count, 3);
	assert_int_equal(batch_sum(&f->batch).poisoned, 0);
}

/* As after an update that refuses more. The events of the rest must not vanish. */
TEST_CASE(adds_a_dead_letter_for_a_record_that_was_half_counted)
{
	struct fixture *f = *state;
	set_stored(f, offsets_position(100, 3), offsets_position(100, 3));
	add_bytes(f, 100, "\xff", 1);
	assert_int_equal(batch_sum(&f->batch).poisoned, 1);
	assert_int_equal(f->partition->next_stored, offsets_position(101, 0));
}

TEST_CASE(adds_a_dead_letter_for_each_record_that_is_no_batch)
{
	struct fixture *f = *state;
	add_bytes(f, 100, "", 0);
	add_bytes(f, 101, NULL, 0);
	add_bytes(f, 102, "\xff\xff\xff", 3);
	assert_int_equal(f->batch.count, 0);
	assert_int_equal(batch_sum(&f->batch).poisoned, 3);
	assert_int_equal(f->partition->next_stored, offsets_position(103, 0));
	assert_false(batch_is_empty(&f->batch));
}

TEST_CASE(adds_no_second_dead_letter_before_the_stored_offset)
{
	struct fixture *f = *state;
	add_bytes(f, 95, "\xff", 1);
	assert_int_equal(batch_sum(&f->batch).poisoned, 0);
	assert_int_equal(f->partition->next_stored, offsets_position(100, 0));
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
