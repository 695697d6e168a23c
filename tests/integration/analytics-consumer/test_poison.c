/* Messages that are no clicks: each costs itself and nothing else, and is kept for operators once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/analytics-consumer/dead_letter.h"
#include "tests/integration/analytics-consumer/world.h"

/* What a broker takes in one message by default, less the room for its frame. */
#define LARGE ((size_t)999000)

struct poison {
	const char *name;
	struct strbuf bytes;
	const char *reason; /* begins so */
};

static void encode(const struct redirect_event *click, struct strbuf *out)
{
	strbuf_init(out, 2 * LARGE);
	redirect_event_encode(click, out);
}

/* A click whose bytes have needle replaced by as many other bytes. */
static void encode_with(const char *needle, const char *instead, size_t len, struct strbuf *out)
{
	struct redirect_event click = world_click(1, 1);
	snprintf(click.user_agent, sizeof(click.user_agent), "agent-%s-end", needle);
	encode(&click, out);
	char *at = memmem(out->data, out->len, needle, len);
	assert_non_null(at);
	memcpy(at, instead, len);
}

static size_t make_poison(struct poison *out)
{
	struct redirect_event click = world_click(1, 1);
	size_t n = 0;
	encode_with("nul", "a\0b", 3, &out[n].bytes);
	out[n++].reason = "user_agent";
	encode_with("utf",
	            "a\xff"
	            "b",
	            3, &out[n].bytes);
	out[n++].reason = "user_agent";
	encode_with("sur", "\xed\xa0\x80", 3, &out[n].bytes);
	out[n++].reason = "user_agent";
	strbuf_init(&out[n].bytes, 10);
	out[n++].reason = "empty message";
	encode(&click, &out[n].bytes);
	out[n].bytes.len -= 7;
	out[n++].reason = "";
	strbuf_init(&out[n].bytes, 2 * LARGE);
	for (size_t i = 0; i < LARGE; i++)
		strbuf_add_char(&out[n].bytes, (char)('a' + i % 26));
	out[n++].reason = "message: 999000 bytes";
	strbuf_init(&out[n].bytes, 100);
	strbuf_add_text(&out[n].bytes, "{\"event_id\":\"JSON from another system\"}");
	out[n++].reason = "";
	click.link_id = 0;
	encode(&click, &out[n].bytes);
	out[n++].reason = "link_id";
	return n;
}

static const struct world_record *find(const struct world_record *records, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(records[i].key, key) == 0)
			return &records[i];
	}
	fail_msg("no dead letter %s", key);
	return NULL;
}

static void assert_letter(struct world *world, const struct world_record *letter, const struct poison *poison)
{
	char original[24];
	snprintf(original, sizeof(original), "%zu", poison->bytes.len);
	assert_string_equal(letter->original_bytes, original);
	size_t kept = poison->bytes.len < DEAD_LETTER_BYTES_MAX ? poison->bytes.len : DEAD_LETTER_BYTES_MAX;
	assert_int_equal(letter->len, kept);
	assert_memory_equal(letter->bytes, poison->bytes.data, kept < sizeof(letter->bytes) ? kept : 4096);
	assert_memory_equal(letter->reason, poison->reason, strlen(poison->reason));
	assert_true(strlen(letter->reason) > 0);
	assert_string_equal(letter->topic, world->redirects);
	assert_true(strlen(letter->partition) == 1 && strlen(letter->offset) > 0);
}

static void keeps_each_poisoned_message_once_and_counts_the_rest(void **state)
{
	struct world *world = *state;
	struct poison poison[16];
	world_make_topics(world);
	size_t count = make_poison(poison);
	struct ingest *ingest = world_start(world);
	for (size_t i = 0; i < count; i++) {
		char key[32];
		snprintf(key, sizeof(key), "poison-%zu", i);
		for (int good = 0; good < 20; good++) {
			struct redirect_event click = world_click(1 + good, (uint32_t)good);
			world_produce(world, &click);
		}
		world_produce_bytes(world, key, poison[i].bytes.data, poison[i].bytes.len);
		world_flush(world);
	}
	world_await_counted(world, 20 * (int64_t)count);
	test_database_await(world->database, "SELECT sum(next_offset)::bigint FROM consumer_offsets",
	                    21 * (int64_t)count, WORLD_DEADLINE_MS);
	/* The next owner finds them passed. */
	world_stop(world, ingest);
	ingest = world_start(world);
	struct redirect_event last = world_click(1, 1);
	world_produce(world, &last);
	world_flush(world);
	world_await_counted(world, 20 * (int64_t)count + 1);
	size_t letters = world_read(world, world->dead_letters, count);
	assert_int_equal(letters, count);
	for (size_t i = 0; i < count; i++) {
		char key[32];
		snprintf(key, sizeof(key), "poison-%zu", i);
		assert_letter(world, find(world->records, letters, key), &poison[i]);
	}
	world_assert_books(world, 20 * (int64_t)count + 1);
	world_stop(world, ingest);
	for (size_t i = 0; i < count; i++)
		strbuf_clear(&poison[i].bytes);
}

static void survives_a_topic_full_of_poison(void **state)
{
	struct world *world = *state;
	char *large = mem_zero(LARGE);
	world_make_topics(world);
	struct ingest *ingest = world_start(world);
	for (int i = 0; i < 60; i++)
		world_produce_bytes(world, "large", large, LARGE);
	for (int i = 0; i < 200; i++)
		world_produce_bytes(world, "small", "\xff", 1);
	struct redirect_event click = world_click(1, 1);
	world_produce(world, &click);
	world_flush(world);
	world_await_counted(world, 1);
	test_database_await(world->database, "SELECT sum(next_offset)::bigint FROM consumer_offsets", 261,
	                    WORLD_DEADLINE_MS);
	assert_int_equal(world_read(world, world->dead_letters, 260), 260);
	world_stop(world, ingest);
	free(large);
}

/* A process that is not the owner any more must not speak for the partition. */
static void sends_no_dead_letter_for_a_fenced_batch(void **state)
{
	struct world *world = *state;
	world_make_topics(world);
	struct ingest *first = world_start(world);
	struct ingest *second = world_start_zombie(world);
	for (int i = 0; i < 100; i++) {
		char key[32];
		snprintf(key, sizeof(key), "poison-%d", i);
		world_produce_bytes(world, key, "\xff\xff", 2);
		struct redirect_event click = world_click(1 + i, 1);
		world_produce(world, &click);
		if (i % 10 == 0)
			world_flush(world);
	}
	world_flush(world);
	world_await_counted(world, 100);
	test_database_await(world->database, "SELECT sum(next_offset)::bigint FROM consumer_offsets", 200,
	                    WORLD_DEADLINE_MS);
	assert_int_equal(world_read(world, world->dead_letters, 100), 100);
	world_stop(world, first);
	world_stop(world, second);
}

static bool waits_for_dead_letters(void *ctx)
{
	return !ingest_can_send_dead_letters(ctx);
}

static void says_that_it_waits_for_the_topic_of_dead_letters(void **state)
{
	struct world *world = *state;
	char missing[80];
	world_make_topics(world);
	snprintf(missing, sizeof(missing), "%s.missing", world->fixture->unique);
	world->config.dead_letter_topic = missing;
	struct ingest *ingest = world_start(world);
	for (uint32_t i = 0; i < 20; i++) {
		struct redirect_event click = world_click(1 + i, i);
		world_produce(world, &click);
	}
	world_produce_bytes(world, "poison", "\xff", 1);
	world_flush(world);
	net_fixture_wait(waits_for_dead_letters, ingest, WORLD_DEADLINE_MS);
	char said[160];
	snprintf(said, sizeof(said), "\"dead_letters_refused\",\"topic\":\"%s\",\"count\":1", missing);
	assert_true(net_fixture_logged(world->fixture, said) > 0);
	/* What is wrong is repaired, and it goes on by itself. */
	snprintf(world->dead_letters, sizeof(world->dead_letters), "%s", missing);
	world_make_topics(world);
	world_await_counted(world, 20);
	assert_int_equal(world_read(world, missing, 1), 1);
	assert_true(ingest_can_send_dead_letters(ingest));
	world_stop(world, ingest);
	world_assert_books(world, 20);
}

/* As if the process had died in the middle: the transaction ends between the acknowledgement and the commit. */
static void may_repeat_a_dead_letter_with_its_place_when_it_dies_before_the_commit(void **state)
{
	struct world *world = *state;
	struct pg_conn *blocker = test_database_connect(world->database, NULL);
	world_make_topics(world);
	assert_int_equal(pg_conn_begin(blocker), OK);
	assert_int_equal(pg_conn_query_once(blocker, "LOCK TABLE link_statistics IN SHARE MODE", NULL, NULL), OK);
	struct redirect_event click = world_click(1, 1);
	world_produce(world, &click);
	world_produce_bytes(world, click.slug, "\xff", 1);
	world_flush(world);
	struct ingest *ingest = world_start(world);
	assert_int_equal(world_read(world, world->dead_letters, 1), 1);
	world_stop(world, ingest);
	assert_int_equal(world_counted(world), 0);
	pg_conn_rollback(blocker);
	pg_conn_close(blocker);
	ingest = world_start(world);
	world_await_counted(world, 1);
	world_stop(world, ingest);
	assert_int_equal(world_read(world, world->dead_letters, 2), 2);
	assert_string_equal(world->records[0].partition, world->records[1].partition);
	assert_string_equal(world->records[0].offset, world->records[1].offset);
	assert_memory_equal(world->records[0].bytes, world->records[1].bytes, 1);
	world_assert_books(world, 1);
}

int main(void)
{
#define IN_A_WORLD(test) cmocka_unit_test_setup_teardown(test, world_open, world_close)
	const struct CMUnitTest tests[] = {
		IN_A_WORLD(keeps_each_poisoned_message_once_and_counts_the_rest),
		IN_A_WORLD(survives_a_topic_full_of_poison),
		IN_A_WORLD(sends_no_dead_letter_for_a_fenced_batch),
		IN_A_WORLD(says_that_it_waits_for_the_topic_of_dead_letters),
		IN_A_WORLD(may_repeat_a_dead_letter_with_its_place_when_it_dies_before_the_commit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
