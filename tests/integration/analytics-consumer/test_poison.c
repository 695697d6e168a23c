/*
 * Records that are no batches, and events that are no clicks: each becomes one dead letter and does
 * not affect its neighbours.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/clicks/redirect_batch.h"
#include "services/analytics-consumer/publish/publish.h"
#include "tests/integration/analytics-consumer/consumer_fixture.h"
#include "tests/support/click_batch.h"
#include "tests/support/test.h"

/* The largest message that brokers accept by default, minus the framing. */
#define LARGE ((size_t)999000)
#define POISON_MAX 16

struct poison {
	/* What is produced, and what the dead letter keeps of it. */
	struct strbuf record, letter;
	/* Prefix of the expected reason. */
	const char *reason;
	/* Of the event in its record; "": the whole record is bad. */
	const char *index;
};

/* A bad event between two clicks. */
static void put_event(struct poison *poison, const void *event, size_t len, const char *reason)
{
	static const uint8_t instance[ENTROPY_UUID_SIZE] = { 1 };
	struct redirect_batch_writer writer;
	uint8_t bytes[REDIRECT_EVENT_BYTES_MAX];
	size_t value_len;
	redirect_batch_init(&writer);
	for (uint64_t i = 0; i < 3; i++) {
		const struct redirect_event click = consumer_fixture_click(30, (uint32_t)i);
		if (i == 1)
			redirect_batch_add(&writer, i, event, len);
		else
			redirect_batch_add(&writer, i, bytes, redirect_event_encode(&click, bytes));
	}
	void *value = redirect_batch_end(&writer, instance, &value_len);
	strbuf_add(&poison->record, value, value_len);
	strbuf_add(&poison->letter, event, len);
	poison->reason = reason;
	poison->index = "1";
	redirect_batch_clear(&writer);
	free(value);
}

static void put_click(struct poison *poison, const struct redirect_event *click, const char *reason)
{
	uint8_t bytes[REDIRECT_EVENT_BYTES_MAX];
	put_event(poison, bytes, redirect_event_encode(click, bytes), reason);
}

/* A click with three bytes in its user agent that are no text. */
static void put_agent(struct poison *poison, const char *instead)
{
	uint8_t bytes[REDIRECT_EVENT_BYTES_MAX];
	struct redirect_event click = consumer_fixture_click(1, 1);
	snprintf(click.user_agent, sizeof(click.user_agent), "agent-XXX-end");
	size_t len = redirect_event_encode(&click, bytes);
	char *at = memmem(bytes, len, "XXX", 3);
	assert_non_null(at);
	memcpy(at, instead, 3);
	put_event(poison, bytes, len, "user_agent");
}

static void put_record(struct poison *poison, const void *bytes, size_t len, const char *reason)
{
	strbuf_add(&poison->record, bytes, len);
	strbuf_add(&poison->letter, bytes, len);
	poison->reason = reason;
	poison->index = "";
}

static void put_large_record(struct poison *poison)
{
	char *large = mem_zero(LARGE);
	for (size_t i = 0; i < LARGE; i++)
		large[i] = (char)('a' + i % 26);
	put_record(poison, large, LARGE, "batch");
	free(large);
}

static void put_cut_record(struct poison *poison)
{
	struct strbuf bytes;
	const struct redirect_event click = consumer_fixture_click(1, 1);
	strbuf_init(&bytes, 2 * REDIRECT_EVENT_BYTES_MAX);
	click_batch_encode(&click, 1, &bytes);
	put_record(poison, bytes.data, bytes.len - 7, "batch");
	strbuf_clear(&bytes);
}

static size_t make_poison(struct poison *out)
{
	static const char json[] = "{\"event_id\":\"JSON from another system\"}";
	static const char oversized[REDIRECT_EVENT_BYTES_MAX + 1];
	struct redirect_event click = consumer_fixture_click(1, 1);
	size_t n = 0;
	for (size_t i = 0; i < POISON_MAX; i++) {
		strbuf_init(&out[i].record, 2 * LARGE);
		strbuf_init(&out[i].letter, 2 * LARGE);
	}
	put_agent(&out[n++], "a\0b");
	put_agent(&out[n++], "a\xff\x62");
	put_agent(&out[n++], "\xed\xa0\x80");
	click.link_id = 0;
	put_click(&out[n++], &click, "link_id");
	put_event(&out[n++], "\xff", 1, "message");
	put_event(&out[n++], oversized, sizeof(oversized), "message: 4097 bytes");
	put_record(&out[n++], "", 0, "empty message");
	put_cut_record(&out[n++]);
	put_large_record(&out[n++]);
	put_record(&out[n++], json, strlen(json), "batch");
	return n;
}

static size_t kept_len(const struct poison *poison)
{
	return poison->letter.len < PUBLISH_DEAD_LETTER_BYTES_MAX ? poison->letter.len
	                                                          : PUBLISH_DEAD_LETTER_BYTES_MAX;
}

static const struct consumer_fixture_record *find(const struct consumer_fixture_record *letters,
                                                  size_t count, const struct poison *poison)
{
	size_t len = kept_len(poison);
	size_t compared = len < sizeof(letters->bytes) ? len : sizeof(letters->bytes);
	for (size_t i = 0; i < count; i++) {
		if (letters[i].len == len &&
		    memcmp(letters[i].bytes, poison->letter.data, compared) == 0)
			return &letters[i];
	}
	fail_msg("no dead letter with the reason %s", poison->reason);
	return NULL;
}

static void assert_letter(struct consumer_fixture *fixture,
                          const struct consumer_fixture_record *letter, const struct poison *poison,
                          const char *key)
{
	char original[24];
	snprintf(original, sizeof(original), "%zu", poison->letter.len);
	assert_string_equal(letter->original_bytes, original);
	assert_string_equal(letter->reason, poison->reason);
	assert_string_equal(letter->topic, fixture->redirects);
	assert_true(strlen(letter->partition) == 1 && strlen(letter->offset) > 0);
	assert_string_equal(letter->index, poison->index);
	assert_string_equal(letter->key, poison->index[0] ? "" : key);
}

TEST_CASE(sends_each_poison_to_the_dead_letters_and_counts_the_rest)
{
	struct consumer_fixture *fixture = *state;
	struct poison poison[POISON_MAX];
	size_t count = make_poison(poison);
	int64_t clicks = 0;
	struct ingest *ingest = consumer_fixture_start(fixture);
	for (size_t i = 0; i < count; i++) {
		char key[32];
		snprintf(key, sizeof(key), "poison-%zu", i);
		for (int good = 0; good < 20; good++) {
			struct redirect_event click =
				consumer_fixture_click(1 + good, (uint32_t)good);
			consumer_fixture_produce(fixture, &click);
		}
		consumer_fixture_produce_bytes(fixture, key, poison[i].record.data,
		                               poison[i].record.len);
		consumer_fixture_flush(fixture);
		clicks += 20 + (poison[i].index[0] ? 2 : 0);
	}
	consumer_fixture_await_counted(fixture, clicks);
	test_database_await(fixture->database,
	                    "SELECT sum(next_offset)::bigint FROM consumer_offsets",
	                    21 * (int64_t)count, CONSUMER_FIXTURE_DEADLINE_MS);
	/* The next owner starts after them. */
	consumer_fixture_stop(fixture, ingest);
	ingest = consumer_fixture_start(fixture);
	struct redirect_event last = consumer_fixture_click(1, 1);
	consumer_fixture_produce(fixture, &last);
	consumer_fixture_flush(fixture);
	consumer_fixture_await_counted(fixture, clicks + 1);
	consumer_fixture_read_letters(fixture, count);
	for (size_t i = 0; i < count; i++) {
		char key[32];
		snprintf(key, sizeof(key), "poison-%zu", i);
		assert_letter(fixture, find(fixture->records, count, &poison[i]), &poison[i], key);
	}
	consumer_fixture_assert_ledger(fixture, clicks + 1);
	consumer_fixture_stop(fixture, ingest);
	for (size_t i = 0; i < POISON_MAX; i++) {
		strbuf_clear(&poison[i].record);
		strbuf_clear(&poison[i].letter);
	}
}

/* Ten clicks, of which two are bad. */
static void produce_record_with_poison(struct consumer_fixture *fixture)
{
	struct redirect_event clicks[10];
	for (size_t i = 0; i < 10; i++)
		clicks[i] = consumer_fixture_click(i == 1 || i == 7 ? 0 : 1, (uint32_t)i);
	consumer_fixture_produce_batch(fixture, clicks, 10);
	consumer_fixture_flush(fixture);
}

/* The events before the index that is stored have theirs. */
TEST_CASE(sends_one_dead_letter_per_event_though_its_record_has_two_owners)
{
	struct consumer_fixture *fixture = *state;
	produce_record_with_poison(fixture);
	consumer_fixture_count_part(fixture, 4);
	consumer_fixture_read_letters(fixture, 1);
	assert_string_equal(fixture->records[0].index, "1");
	struct ingest *ingest = consumer_fixture_start(fixture);
	consumer_fixture_await_counted(fixture, 8);
	consumer_fixture_stop(fixture, ingest);
	consumer_fixture_read_letters(fixture, 2);
	assert_string_equal(fixture->records[1].index, "7");
	assert_string_equal(fixture->records[1].offset, "0");
	assert_string_equal(fixture->records[1].reason, "link_id");
	consumer_fixture_assert_ledger(fixture, 8);
}

TEST_CASE(survives_a_topic_full_of_poison)
{
	struct consumer_fixture *fixture = *state;
	char *large = mem_zero(LARGE);
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
	consumer_fixture_read_letters(fixture, 260);
	consumer_fixture_stop(fixture, ingest);
	free(large);
}

/* Only the owner of a partition may send dead letters for it. */
TEST_CASE(sends_no_dead_letter_for_a_fenced_batch)
{
	struct consumer_fixture *fixture = *state;
	struct ingest *first = consumer_fixture_start(fixture);
	struct ingest *second = consumer_fixture_start_zombie(fixture);
	consumer_fixture_await_logged(fixture, CONSUMER_FIXTURE_ASSIGNED, 2);
	for (int i = 0; i < 100; i++) {
		char key[32];
		const struct redirect_event clicks[] = { consumer_fixture_click(1 + i, 1),
			                                 consumer_fixture_click(0, 1) };
		snprintf(key, sizeof(key), "poison-%d", i);
		consumer_fixture_produce_bytes(fixture, key, "\xff\xff", 2);
		consumer_fixture_produce_batch(fixture, clicks, 2);
		if (i % 10 == 0)
			consumer_fixture_flush(fixture);
	}
	consumer_fixture_flush(fixture);
	consumer_fixture_await_counted(fixture, 100);
	test_database_await(fixture->database,
	                    "SELECT sum(next_offset)::bigint FROM consumer_offsets", 200,
	                    CONSUMER_FIXTURE_DEADLINE_MS);
	consumer_fixture_await_logged(fixture, CONSUMER_FIXTURE_FENCED, 1);
	consumer_fixture_read_letters(fixture, 200);
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
 * dead letter is sent again, with the same offset and index.
 */
TEST_CASE(repeats_a_dead_letter_after_a_crash_before_the_commit)
{
	struct consumer_fixture *fixture = *state;
	struct pg_conn *blocker = test_database_connect(fixture->database, NULL);
	assert_int_equal(pg_conn_begin(blocker), OK);
	assert_int_equal(
		pg_conn_query_once(blocker, "LOCK TABLE link_statistics IN SHARE MODE", NULL, NULL),
		OK);
	const struct redirect_event clicks[] = { consumer_fixture_click(1, 1),
		                                 consumer_fixture_click(0, 2) };
	consumer_fixture_produce_batch(fixture, clicks, 2);
	consumer_fixture_flush(fixture);
	struct ingest *ingest = consumer_fixture_start(fixture);
	consumer_fixture_read_letters(fixture, 1);
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
	assert_string_equal(fixture->records[0].index, "1");
	assert_string_equal(fixture->records[1].index, "1");
	assert_int_equal(fixture->records[0].len, fixture->records[1].len);
	assert_memory_equal(fixture->records[0].bytes, fixture->records[1].bytes,
	                    fixture->records[0].len);
	consumer_fixture_assert_ledger(fixture, 1);
}

TEST_MAIN(.set_up = consumer_fixture_open, .tear_down = consumer_fixture_close)
