/* Messages that are not clicks: each becomes one dead letter and does not affect other messages. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/analytics-consumer/publish/publish.h"
#include "tests/integration/analytics-consumer/consumer_fixture.h"
#include "tests/support/test.h"

/* The largest message that brokers accept by default, minus the framing. */
#define LARGE ((size_t)999000)

struct poison {
	const char *name;
	struct strbuf bytes;
	/* Prefix of the expected reason. */
	const char *reason;
};

static void encode(const struct redirect_event *click, struct strbuf *out)
{
	strbuf_init(out, 2 * LARGE);
	redirect_event_encode(click, out);
}

/* Encodes a click and overwrites needle in its bytes with as many other bytes. */
static void encode_with(const char *needle, const char *instead, size_t len, struct strbuf *out)
{
	struct redirect_event click = consumer_fixture_click(1, 1);
	snprintf(click.user_agent, sizeof(click.user_agent), "agent-%s-end", needle);
	encode(&click, out);
	char *at = memmem(out->data, out->len, needle, len);
	assert_non_null(at);
	memcpy(at, instead, len);
}

static size_t make_poison(struct poison *out)
{
	struct redirect_event click = consumer_fixture_click(1, 1);
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

static const struct consumer_fixture_record *find(const struct consumer_fixture_record *records,
                                                  size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(records[i].key, key) == 0)
			return &records[i];
	}
	fail_msg("no dead letter %s", key);
	return NULL;
}

static void assert_letter(struct consumer_fixture *fixture,
                          const struct consumer_fixture_record *letter, const struct poison *poison)
{
	char original[24];
	snprintf(original, sizeof(original), "%zu", poison->bytes.len);
	assert_string_equal(letter->original_bytes, original);
	size_t kept = poison->bytes.len < PUBLISH_DEAD_LETTER_BYTES_MAX
	                      ? poison->bytes.len
	                      : PUBLISH_DEAD_LETTER_BYTES_MAX;
	assert_int_equal(letter->len, kept);
	assert_memory_equal(letter->bytes, poison->bytes.data,
	                    kept < sizeof(letter->bytes) ? kept : 4096);
	assert_memory_equal(letter->reason, poison->reason, strlen(poison->reason));
	assert_true(strlen(letter->reason) > 0);
	assert_string_equal(letter->topic, fixture->redirects);
	assert_true(strlen(letter->partition) == 1 && strlen(letter->offset) > 0);
}

TEST_CASE(sends_each_poison_message_to_the_dead_letters_and_counts_the_rest)
{
	struct consumer_fixture *fixture = *state;
	struct poison poison[16];
	consumer_fixture_create_topics(fixture);
	size_t count = make_poison(poison);
	struct ingest *ingest = consumer_fixture_start(fixture);
	for (size_t i = 0; i < count; i++) {
		char key[32];
		snprintf(key, sizeof(key), "poison-%zu", i);
		for (int good = 0; good < 20; good++) {
			struct redirect_event click =
				consumer_fixture_click(1 + good, (uint32_t)good);
			consumer_fixture_produce(fixture, &click);
		}
		consumer_fixture_produce_bytes(fixture, key, poison[i].bytes.data,
		                               poison[i].bytes.len);
		consumer_fixture_flush(fixture);
	}
	consumer_fixture_await_counted(fixture, 20 * (int64_t)count);
	test_database_await(fixture->database,
	                    "SELECT sum(next_offset)::bigint FROM consumer_offsets",
	                    21 * (int64_t)count, CONSUMER_FIXTURE_DEADLINE_MS);
	/* The next owner starts after them. */
	consumer_fixture_stop(fixture, ingest);
	ingest = consumer_fixture_start(fixture);
	struct redirect_event last = consumer_fixture_click(1, 1);
	consumer_fixture_produce(fixture, &last);
	consumer_fixture_flush(fixture);
	consumer_fixture_await_counted(fixture, 20 * (int64_t)count + 1);
	size_t letters = consumer_fixture_read_letters(fixture, count);
	assert_int_equal(letters, count);
	for (size_t i = 0; i < count; i++) {
		char key[32];
		snprintf(key, sizeof(key), "poison-%zu", i);
		assert_letter(fixture, find(fixture->records, letters, key), &poison[i]);
	}
	consumer_fixture_assert_ledger(fixture, 20 * (int64_t)count + 1);
	consumer_fixture_stop(fixture, ingest);
	for (size_t i = 0; i < count; i++)
		strbuf_clear(&poison[i].bytes);
}

TEST_CASE(survives_a_topic_full_of_poison)
{
	struct consumer_fixture *fixture = *state;
	char *large = mem_zero(LARGE);
	consumer_fixture_create_topics(fixture);
	struct ingest *ingest = consumer_fixture_start(fixture);
	for (int i = 0; i < 60; i++)
		consumer_fixture_produce_bytes(fixture, "large", large, LARGE);
	for (int i = 0; i < 200; i++)
		consumer_fixture_produce_bytes(fixture, "small", "\xff", 1);
	struct redirect_event click = consumer_fixture_click(1, 1);
	consumer_fixture_produce(fixture, &click);
	consumer_fixture_flush(fixture);
	consumer_fixture_await_counted(fixture, 1);
	test_database_await(fixture->database,
	                    "SELECT sum(next_offset)::bigint FROM consumer_offsets", 261,
	                    CONSUMER_FIXTURE_DEADLINE_MS);
	assert_int_equal(consumer_fixture_read_letters(fixture, 260), 260);
	consumer_fixture_stop(fixture, ingest);
	free(large);
}

/* Only the owner of a partition may send dead letters for it. */
TEST_CASE(sends_no_dead_letter_for_a_fenced_batch)
{
	struct consumer_fixture *fixture = *state;
	consumer_fixture_create_topics(fixture);
	struct ingest *first = consumer_fixture_start(fixture);
	struct ingest *second = consumer_fixture_start_zombie(fixture);
	for (int i = 0; i < 100; i++) {
		char key[32];
		snprintf(key, sizeof(key), "poison-%d", i);
		consumer_fixture_produce_bytes(fixture, key, "\xff\xff", 2);
		struct redirect_event click = consumer_fixture_click(1 + i, 1);
		consumer_fixture_produce(fixture, &click);
		if (i % 10 == 0)
			consumer_fixture_flush(fixture);
	}
	consumer_fixture_flush(fixture);
	consumer_fixture_await_counted(fixture, 100);
	test_database_await(fixture->database,
	                    "SELECT sum(next_offset)::bigint FROM consumer_offsets", 200,
	                    CONSUMER_FIXTURE_DEADLINE_MS);
	assert_int_equal(consumer_fixture_read_letters(fixture, 100), 100);
	consumer_fixture_stop(fixture, first);
	consumer_fixture_stop(fixture, second);
}

static bool waits_for_dead_letters(void *ctx)
{
	return !ingest_can_send_dead_letters(ctx);
}

TEST_CASE(reports_that_it_waits_for_the_dead_letter_topic)
{
	struct consumer_fixture *fixture = *state;
	char missing[80];
	consumer_fixture_create_topics(fixture);
	snprintf(missing, sizeof(missing), "%s.missing", fixture->backend->unique);
	fixture->config.dead_letter_topic = missing;
	struct ingest *ingest = consumer_fixture_start(fixture);
	for (uint32_t i = 0; i < 20; i++) {
		struct redirect_event click = consumer_fixture_click(1 + i, i);
		consumer_fixture_produce(fixture, &click);
	}
	consumer_fixture_produce_bytes(fixture, "poison", "\xff", 1);
	consumer_fixture_flush(fixture);
	backend_fixture_wait(waits_for_dead_letters, ingest, CONSUMER_FIXTURE_DEADLINE_MS);
	char said[160];
	snprintf(said, sizeof(said), "\"dead_letters_refused\",\"topic\":\"%s\",\"count\":1",
	         missing);
	assert_true(backend_fixture_logged(fixture->backend, said) > 0);
	/* Once the topic exists, the consumer continues by itself. */
	snprintf(fixture->dead_letters, sizeof(fixture->dead_letters), "%s", missing);
	consumer_fixture_create_topics(fixture);
	consumer_fixture_await_counted(fixture, 20);
	assert_int_equal(consumer_fixture_read(fixture, missing, 1), 1);
	assert_true(ingest_can_send_dead_letters(ingest));
	consumer_fixture_stop(fixture, ingest);
	consumer_fixture_assert_ledger(fixture, 20);
}

/*
 * As if the process had died: the transaction ends between the acknowledgement and the commit. The
 * dead letter is sent again, with the same offset.
 */
TEST_CASE(repeats_a_dead_letter_after_a_crash_before_the_commit)
{
	struct consumer_fixture *fixture = *state;
	struct pg_conn *blocker = test_database_connect(fixture->database, NULL);
	consumer_fixture_create_topics(fixture);
	assert_int_equal(pg_conn_begin(blocker), OK);
	assert_int_equal(
		pg_conn_query_once(blocker, "LOCK TABLE link_statistics IN SHARE MODE", NULL, NULL),
		OK);
	struct redirect_event click = consumer_fixture_click(1, 1);
	consumer_fixture_produce(fixture, &click);
	consumer_fixture_produce_bytes(fixture, click.slug, "\xff", 1);
	consumer_fixture_flush(fixture);
	struct ingest *ingest = consumer_fixture_start(fixture);
	assert_int_equal(consumer_fixture_read(fixture, fixture->dead_letters, 1), 1);
	consumer_fixture_stop(fixture, ingest);
	assert_int_equal(consumer_fixture_counted(fixture), 0);
	pg_conn_rollback(blocker);
	pg_conn_close(blocker);
	ingest = consumer_fixture_start(fixture);
	consumer_fixture_await_counted(fixture, 1);
	consumer_fixture_stop(fixture, ingest);
	assert_int_equal(consumer_fixture_read(fixture, fixture->dead_letters, 2), 2);
	assert_string_equal(fixture->records[0].partition, fixture->records[1].partition);
	assert_string_equal(fixture->records[0].offset, fixture->records[1].offset);
	assert_memory_equal(fixture->records[0].bytes, fixture->records[1].bytes, 1);
	consumer_fixture_assert_ledger(fixture, 1);
}

TEST_MAIN(.set_up = consumer_fixture_open, .tear_down = consumer_fixture_close)
