#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/clicks/redirect_batch.h"
#include "services/redirector/events/event_packer.h"
#include "tests/support/test.h"

#define SHARDS 2
#define PARTITIONS 3
#define BATCHES_MAX 5000
#define EVENT_BYTES 240
#define LINGER_US (EVENT_PACKER_LINGER_MS * CLOCK_US_PER_MS)
#define BEGIN_US CLOCK_US_PER_HOUR

static const uint8_t own[ENTROPY_UUID_SIZE] = { 1 };
static const uint8_t earlier[ENTROPY_UUID_SIZE] = { 2 };

struct fixture {
	struct event_packer *packer;
	int64_t now_us;
	struct event_batch *batches[BATCHES_MAX];
	size_t count;
};

static void take(void *ctx, struct event_batch *batch)
{
	struct fixture *f = ctx;
	assert_true(f->count < BATCHES_MAX);
	f->batches[f->count++] = batch;
}

static int set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	f->packer = event_packer_new(SHARDS, take, f);
	f->now_us = BEGIN_US;
	event_packer_set_partitions(f->packer, PARTITIONS);
	*state = f;
	return 0;
}

static void forget(struct fixture *f)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->batches[i])
			event_packer_free_batch(f->batches[i]);
	f->count = 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	event_packer_free(f->packer);
	forget(f);
	free(f);
	return 0;
}

/* Its id and its ack_id are its sequence. */
static void add_event(struct fixture *f, size_t shard, uint64_t slug_hash, uint64_t sequence,
                      size_t len, const uint8_t *instance)
{
	uint8_t bytes[EVENT_PACKER_BYTES + 1] = { 0 };
	assert_true(len <= sizeof(bytes));
	memcpy(bytes + REDIRECT_EVENT_ID_AT, &sequence, sizeof(sequence));
	const struct journal_shard_record event = {
		.instance = instance,
		.sequence = sequence,
		.slug_hash = slug_hash,
		.bytes = bytes,
		.len = len,
		.ack_id = sequence,
	};
	event_packer_add(f->packer, shard, &event, f->now_us);
}

static void add(struct fixture *f, uint64_t sequence)
{
	add_event(f, 0, 0, sequence, EVENT_BYTES, own);
}

static void add_some(struct fixture *f, uint64_t first, size_t count)
{
	for (size_t i = 0; i < count; i++)
		add(f, first + i);
}

static void wait_us(struct fixture *f, int64_t us)
{
	f->now_us += us;
	event_packer_send_due(f->packer, f->now_us, false);
}

/* Returns the sequence of the batch's last event. */
static uint64_t assert_is_whole(const struct event_batch *batch)
{
	struct redirect_batch events;
	char reason[REDIRECT_EVENT_REASON_SIZE] = "";
	const void *event;
	size_t len;
	uint64_t last = 0;
	assert_int_equal(redirect_batch_open(batch->value, batch->len, &events, reason), OK);
	assert_int_equal(events.count, batch->count);
	for (size_t i = 0; i < batch->count; i++) {
		assert_true(redirect_batch_next(&events, &event, &len));
		assert_true(events.sequence > last);
		last = events.sequence;
		assert_memory_equal((const uint8_t *)event + REDIRECT_EVENT_ID_AT, &last,
		                    sizeof(last));
		assert_int_equal(batch->ack_ids[i], last);
		if (i == 0)
			assert_memory_equal(batch->id, (const uint8_t *)event + 2,
			                    sizeof(batch->id));
	}
	return last;
}

/* Events with sequences from first on, without gaps. */
static void assert_sent(const struct fixture *f, size_t index, uint64_t first, size_t count)
{
	assert_true(index < f->count);
	assert_int_equal(f->batches[index]->count, count);
	assert_int_equal(f->batches[index]->ack_ids[0], first);
	assert_int_equal(assert_is_whole(f->batches[index]), first + count - 1);
}

TEST_CASE(an_idle_lane_sends_at_once)
{
	struct fixture *f = *state;
	add(f, 1);
	assert_int_equal(f->count, 0);
	wait_us(f, 0);
	assert_int_equal(f->count, 1);
	assert_sent(f, 0, 1, 1);
	wait_us(f, LINGER_US);
	add(f, 2);
	wait_us(f, 0);
	assert_int_equal(f->count, 2);
	assert_sent(f, 1, 2, 1);
}

TEST_CASE(a_busy_lane_sends_fifty_milliseconds_after_its_previous_batch)
{
	struct fixture *f = *state;
	add(f, 1);
	wait_us(f, 0);
	for (uint64_t sequence = 2; sequence <= 50; sequence++) {
		add(f, sequence);
		wait_us(f, CLOCK_US_PER_MS);
		assert_int_equal(f->count, 1);
	}
	add(f, 51);
	wait_us(f, CLOCK_US_PER_MS);
	assert_int_equal(f->count, 2);
	assert_sent(f, 1, 2, 50);
	/* Nothing is sent without an event. */
	wait_us(f, CLOCK_US_PER_S);
	assert_int_equal(f->count, 2);
}

TEST_CASE(a_process_that_ends_sends_what_is_open_at_once)
{
	struct fixture *f = *state;
	add(f, 1);
	wait_us(f, 0);
	add(f, 2);
	wait_us(f, 0);
	assert_int_equal(f->count, 1);
	event_packer_send_due(f->packer, f->now_us, true);
	assert_int_equal(f->count, 2);
	assert_sent(f, 1, 2, 1);
}

TEST_CASE(a_batch_ends_before_it_has_too_many_bytes)
{
	struct fixture *f = *state;
	add_some(f, 1, 1000);
	assert_int_equal(f->count, 4);
	for (size_t i = 0; i < f->count; i++) {
		assert_is_whole(f->batches[i]);
		assert_in_range(f->batches[i]->len, EVENT_PACKER_BYTES - 2 * EVENT_BYTES,
		                EVENT_PACKER_BYTES + 1024);
	}
	/* A larger event has a batch for itself. */
	add_event(f, 0, 0, 1001, EVENT_PACKER_BYTES + 1, own);
	add(f, 1002);
	assert_int_equal(f->count, 6);
	assert_sent(f, 5, 1001, 1);
}

TEST_CASE(a_batch_ends_when_it_has_1024_events)
{
	struct fixture *f = *state;
	for (uint64_t sequence = 1; sequence <= REDIRECT_BATCH_EVENTS_MAX + 1; sequence++)
		add_event(f, 0, 0, sequence, 20, own);
	assert_int_equal(f->count, 1);
	assert_sent(f, 0, 1, REDIRECT_BATCH_EVENTS_MAX);
	wait_us(f, LINGER_US);
	assert_sent(f, 1, REDIRECT_BATCH_EVENTS_MAX + 1, 1);
}

static void assert_instance(const struct fixture *f, size_t index, const uint8_t *instance)
{
	struct redirect_batch events;
	char reason[REDIRECT_EVENT_REASON_SIZE];
	const struct event_batch *batch = f->batches[index];
	assert_int_equal(redirect_batch_open(batch->value, batch->len, &events, reason), OK);
	assert_memory_equal(events.instance, instance, ENTROPY_UUID_SIZE);
}

TEST_CASE(events_of_another_instance_begin_another_batch)
{
	struct fixture *f = *state;
	add_event(f, 0, 0, 70, EVENT_BYTES, earlier);
	add_event(f, 0, 0, 71, EVENT_BYTES, earlier);
	add(f, 1);
	assert_int_equal(f->count, 1);
	assert_sent(f, 0, 70, 2);
	assert_instance(f, 0, earlier);
	wait_us(f, LINGER_US);
	assert_sent(f, 1, 1, 1);
	assert_instance(f, 1, own);
}

/* The sequence of a lane has gaps. */
TEST_CASE(each_slug_has_one_lane_that_keeps_the_order)
{
	struct fixture *f = *state;
	size_t found = 0;
	for (uint64_t sequence = 1; sequence <= 600; sequence++) {
		add_event(f, sequence % SHARDS, sequence % 10, sequence, EVENT_BYTES, own);
		if (sequence % 50 == 0)
			wait_us(f, LINGER_US);
	}
	uint64_t last[SHARDS][PARTITIONS] = { 0 };
	for (size_t i = 0; i < f->count; i++) {
		const struct event_batch *batch = f->batches[i];
		uint64_t *before = &last[batch->shard][batch->partition];
		assert_true(batch->ack_ids[0] > *before);
		*before = assert_is_whole(batch);
		for (size_t e = 0; e < batch->count; e++) {
			assert_int_equal(batch->ack_ids[e] % SHARDS, batch->shard);
			assert_int_equal(batch->ack_ids[e] % 10 % PARTITIONS, batch->partition);
		}
		found += batch->count;
	}
	assert_int_equal(found, 600);
}

TEST_CASE(another_number_of_partitions_sends_everything_first)
{
	struct fixture *f = *state;
	for (uint64_t slug = 0; slug < PARTITIONS; slug++)
		add_event(f, 1, slug, slug + 1, EVENT_BYTES, own);
	event_packer_set_partitions(f->packer, PARTITIONS);
	assert_int_equal(f->count, 0);
	event_packer_set_partitions(f->packer, 2 * PARTITIONS);
	assert_int_equal(f->count, PARTITIONS);
	for (size_t i = 0; i < PARTITIONS; i++) {
		assert_int_equal(f->batches[i]->partition, i);
		assert_sent(f, i, i + 1, 1);
	}
	add_event(f, 1, PARTITIONS + 1, 10, EVENT_BYTES, own);
	wait_us(f, 0);
	assert_int_equal(f->batches[PARTITIONS]->partition, PARTITIONS + 1);
	assert_int_equal(f->batches[PARTITIONS]->shard, 1);
}

/* Takes a batch from the list and says that the brokers have refused it. */
static void refuse(struct fixture *f, size_t index)
{
	struct event_batch *batch = f->batches[index];
	f->batches[index] = NULL;
	event_packer_split(f->packer, batch, f->now_us);
}

TEST_CASE(a_refused_batch_is_sent_as_two_with_all_that_belongs_to_its_events)
{
	struct fixture *f = *state;
	for (uint64_t i = 1; i <= 5; i++)
		add_event(f, 1, 2, 10 * i, EVENT_BYTES, earlier);
	wait_us(f, 0);
	assert_int_equal(f->count, 1);
	refuse(f, 0);
	assert_int_equal(f->count, 3);
	assert_int_equal(assert_is_whole(f->batches[1]), 20);
	assert_int_equal(f->batches[1]->count, 2);
	assert_int_equal(f->batches[2]->ack_ids[0], 30);
	assert_int_equal(assert_is_whole(f->batches[2]), 50);
	assert_int_equal(f->batches[2]->count, 3);
	for (size_t i = 1; i < 3; i++) {
		assert_instance(f, i, earlier);
		assert_int_equal(f->batches[i]->shard, 1);
		assert_int_equal(f->batches[i]->partition, 2);
	}
	/* Down to single events. */
	refuse(f, 1);
	assert_int_equal(f->count, 5);
	assert_sent(f, 3, 10, 1);
	assert_sent(f, 4, 20, 1);
}

/* The size of the batches that a backlog makes. */
static size_t largest_batch(struct fixture *f)
{
	size_t largest = 0;
	forget(f);
	add_some(f, 1, 1000);
	wait_us(f, LINGER_US);
	for (size_t i = 0; i < f->count; i++)
		largest = f->batches[i]->len > largest ? f->batches[i]->len : largest;
	return largest;
}

TEST_CASE(batches_stay_small_for_a_minute_and_grow_again)
{
	struct fixture *f = *state;
	size_t usual = largest_batch(f);
	refuse(f, 0);
	size_t half = largest_batch(f);
	assert_in_range(half, usual / 3, usual / 2 + EVENT_BYTES);
	refuse(f, 0);
	size_t quarter = largest_batch(f);
	assert_in_range(quarter, half / 3, half / 2 + EVENT_BYTES);
	wait_us(f, 59 * CLOCK_US_PER_S);
	assert_int_equal(largest_batch(f), quarter);
	wait_us(f, CLOCK_US_PER_S);
	add(f, 1);
	assert_in_range(largest_batch(f), quarter * 3 / 2, half + EVENT_BYTES);
	wait_us(f, 60 * CLOCK_US_PER_S);
	add(f, 1);
	assert_in_range(largest_batch(f), half * 3 / 2, usual);
	wait_us(f, 60 * CLOCK_US_PER_S);
	add(f, 1);
	assert_int_equal(largest_batch(f), usual);
}

TEST_MAIN(.set_up = set_up, .tear_down = tear_down)
