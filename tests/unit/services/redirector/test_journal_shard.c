#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/redirector/journal/journal_shard.h"
#include "tests/support/test.h"
#include "tests/support/test_folder.h"

#define TRACE "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

struct fixture {
	char dir[TEST_FOLDER_SIZE];
	struct journal_config config;
	struct journal_shard *shard;
};

static void open_shard(struct fixture *f)
{
	f->config = (struct journal_config){ .dir = f->dir,
		                             .segment_bytes = (size_t)64 * 1024,
		                             .bytes_max = (size_t)1024 * 1024,
		                             .in_flight_max = 100,
		                             .clock = clock_system() };
	f->shard = journal_shard_new(&f->config);
}

static int set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	test_folder_make(f->dir);
	open_shard(f);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	journal_shard_free(f->shard);
	test_folder_remove(f->dir);
	free(f);
	return 0;
}

static void append(struct fixture *f, const char *slug, uint64_t slug_hash)
{
	struct redirect_event event = { .occurred_at_us = 1,
		                        .link_id = 1,
		                        .link_version = 1,
		                        .status = 302,
		                        .method = REDIRECT_METHOD_GET,
		                        .traceparent = TRACE };
	snprintf(event.slug, sizeof(event.slug), "%s", slug);
	journal_maintain(journal_shard_journal(f->shard));
	assert_int_equal(journal_shard_append(f->shard, &event, slug_hash), OK);
}

static enum err append_from(struct fixture *f, const char *slug, const char *network)
{
	struct redirect_event event = { .occurred_at_us = 1,
		                        .link_id = 1,
		                        .link_version = 1,
		                        .status = 302,
		                        .method = REDIRECT_METHOD_GET };
	snprintf(event.slug, sizeof(event.slug), "%s", slug);
	snprintf(event.client_network, sizeof(event.client_network), "%s", network);
	memset(event.user_agent, 'a', sizeof(event.user_agent) - 1);
	journal_maintain(journal_shard_journal(f->shard));
	return journal_shard_append(f->shard, &event, 0);
}

/* Appends until the journal refuses. Numbers the links or the networks. */
static int fill(struct fixture *f, bool is_one_link)
{
	int count = 0;
	char slug[33] = "greedy", network[50] = "198.51.100.0/24";
	do {
		snprintf(is_one_link ? network : slug, 33, is_one_link ? "%d.0.0.0/24" : "many-%d",
		         count);
		assert_true(count++ < 100000);
	} while (append_from(f, slug, network) == OK);
	return count;
}

/* Some of 8,191 holders share a counter with the greedy one. */
static void expect_room_for_others(struct fixture *f)
{
	int refused = 0;
	for (int i = 0; i < 500; i++) {
		char slug[33], network[50];
		snprintf(slug, sizeof(slug), "other-%d", i);
		snprintf(network, sizeof(network), "203.0.%d.0/24", i);
		refused += append_from(f, slug, network) != OK;
	}
	assert_in_range(refused, 0, 5);
}

TEST_CASE(a_link_with_most_clicks_leaves_room_for_the_others)
{
	struct fixture *f = *state;
	fill(f, true);
	expect_room_for_others(f);
	assert_int_equal(append_from(f, "greedy", "203.0.113.0/24"), ERR_LIMIT);
}

TEST_CASE(a_network_with_most_clicks_leaves_room_for_the_others)
{
	struct fixture *f = *state;
	fill(f, false);
	expect_room_for_others(f);
	assert_int_equal(append_from(f, "another", "198.51.100.0/24"), ERR_LIMIT);
}

TEST_CASE(clicks_without_a_network_are_bounded_by_their_link_alone)
{
	struct fixture *f = *state;
	int count = 0;
	char slug[33];
	do {
		snprintf(slug, sizeof(slug), "many-%d", count++);
	} while (append_from(f, slug, "") == OK);
	assert_int_equal(journal_shard_over_share(f->shard), 0);
}

TEST_CASE(a_share_is_free_again_once_kafka_has_its_events)
{
	struct fixture *f = *state;
	struct journal_shard_record record;
	int count = fill(f, true);
	while (journal_shard_next(f->shard, &record)) {
		journal_ack(journal_shard_journal(f->shard), record.ack_id);
		journal_maintain(journal_shard_journal(f->shard));
	}
	assert_int_equal(journal_count(journal_shard_journal(f->shard)).held, 0);
	assert_int_equal(fill(f, true), count);
}

/* They take room, but the next process does not know their shares. */
TEST_CASE(recovered_events_take_room_until_kafka_has_them)
{
	struct fixture *f = *state;
	struct journal_shard_record record;
	int count = fill(f, true);
	journal_shard_free(f->shard);
	open_shard(f);
	assert_true(journal_count(journal_shard_journal(f->shard)).held > 0);
	assert_in_range(fill(f, true), count / 3, count * 2 / 3);
	while (journal_shard_next(f->shard, &record)) {
		journal_ack(journal_shard_journal(f->shard), record.ack_id);
		journal_maintain(journal_shard_journal(f->shard));
	}
	assert_int_equal(journal_count(journal_shard_journal(f->shard)).held, 0);
}

/* Returns the event's place; it is borrowed. */
static struct journal_shard_record assert_next(struct fixture *f, const char *slug,
                                               uint64_t slug_hash, uint64_t sequence)
{
	struct journal_shard_record record = { 0 };
	struct redirect_event event;
	char reason[REDIRECT_EVENT_REASON_SIZE] = "";
	assert_true(journal_shard_next(f->shard, &record));
	assert_int_equal(record.slug_hash, slug_hash);
	assert_int_equal(record.sequence, sequence);
	assert_int_equal(redirect_event_decode(record.bytes, record.len, &event, reason), OK);
	assert_string_equal(event.slug, slug);
	assert_string_equal(event.traceparent, TRACE);
	assert_int_equal(event.event_id[6] >> 4, 7);
	return record;
}

TEST_CASE(returns_what_a_batch_needs_of_each_event)
{
	struct fixture *f = *state;
	char longest[SLUG_SIZE] = "";
	memset(longest, 'a', SLUG_LENGTH_MAX);
	append(f, "first", UINT64_MAX);
	append(f, longest, 7);
	struct journal_shard_record first = assert_next(f, "first", UINT64_MAX, 1);
	struct journal_shard_record second = assert_next(f, longest, 7, 2);
	assert_memory_equal(first.instance, second.instance, ENTROPY_UUID_SIZE);
	assert_memory_not_equal((const uint8_t *)first.bytes + REDIRECT_EVENT_ID_AT,
	                        (const uint8_t *)second.bytes + REDIRECT_EVENT_ID_AT,
	                        ENTROPY_UUID_SIZE);
	assert_false(journal_shard_next(f->shard, &first));
}

TEST_CASE(the_next_process_returns_them_under_the_instance_of_the_earlier_one)
{
	struct fixture *f = *state;
	append(f, "first", 1);
	append(f, "second", 2);
	uint8_t instance[ENTROPY_UUID_SIZE];
	memcpy(instance, assert_next(f, "first", 1, 1).instance, sizeof(instance));
	journal_shard_free(f->shard);
	open_shard(f);
	append(f, "own", 3);
	assert_memory_equal(assert_next(f, "first", 1, 1).instance, instance, sizeof(instance));
	assert_memory_equal(assert_next(f, "second", 2, 2).instance, instance, sizeof(instance));
	assert_memory_not_equal(assert_next(f, "own", 3, 1).instance, instance, sizeof(instance));
}

TEST_MAIN(.set_up = set_up, .tear_down = tear_down)
