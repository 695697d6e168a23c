#include "tests/integration/analytics-consumer/consumer_fixture.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "tests/integration/analytics-consumer/ledger.h"
#include "tests/integration/kafka/kafka_fixture.h"
#include "tests/support/click_batch.h"
#include "tests/support/test.h"
#include "tools/topics/kafka_topics.h"

#define QUIET_MS 500

static struct visitor_facts *open_visitor_facts(const struct consumer_fixture *fixture)
{
	const struct visitor_facts_config config = { .geoip_db = "",
		                                     .ua_regexes = "",
		                                     .user_agent_cache = 1000,
		                                     .check_ms = 60000,
		                                     .log = fixture->backend->log };
	struct visitor_facts *facts = NULL;
	assert_int_equal(visitor_facts_open(&config, &facts), OK);
	return facts;
}

static void set_config(struct consumer_fixture *fixture)
{
	fixture->config = (struct ingest_config){ .kafka = &fixture->backend->kafka,
		                                  .group = fixture->backend->unique,
		                                  .topic = fixture->redirects,
		                                  .dead_letter_topic = fixture->dead_letters,
		                                  .visits_topic = fixture->visits,
		                                  .session_timeout_ms = 30000,
		                                  .batch_events = 1000,
		                                  .batch_ms = 20,
		                                  .clock = clock_system(),
		                                  .log = fixture->backend->log };
}

int consumer_fixture_open(void **state)
{
	struct consumer_fixture *fixture = mem_zero(sizeof(*fixture));
	if (backend_fixture_set_up((void **)&fixture->backend) != 0)
		return -1;
	const char *unique = fixture->backend->unique;
	fixture->database = test_database_new();
	test_database_url(fixture->database, "waymark_consumer", fixture->pg_url);
	snprintf(fixture->redirects, sizeof(fixture->redirects), "%s.redirects", unique);
	snprintf(fixture->dead_letters, sizeof(fixture->dead_letters), "%s.dead-letters", unique);
	snprintf(fixture->visits, sizeof(fixture->visits), "%s.visits", unique);
	const struct kafka_producer_config producer = { .kafka = &fixture->backend->kafka,
		                                        .queue_max = 1000000,
		                                        .queue_bytes_max = (size_t)256 << 20,
		                                        .linger_ms = 1,
		                                        .log = fixture->backend->log };
	assert_int_equal(kafka_producer_new(&producer, &fixture->producer), OK);
	fixture->records = mem_array(CONSUMER_FIXTURE_RECORDS_MAX, sizeof(*fixture->records));
	fixture->visitor = open_visitor_facts(fixture);
	fixture->enrich = enrich_new(fixture->visitor);
	set_config(fixture);
	*state = fixture;
	return 0;
}

int consumer_fixture_close(void **state)
{
	struct consumer_fixture *fixture = *state;
	for (size_t i = 0; i < CONSUMER_FIXTURE_INGESTS_MAX; i++)
		ingest_stop(fixture->ingests[i]);
	kafka_producer_free(fixture->producer);
	enrich_free(fixture->enrich);
	for (size_t i = 0; i < CONSUMER_FIXTURE_INGESTS_MAX; i++)
		enrich_free(fixture->of_ingest[i]);
	visitor_facts_close(fixture->visitor);
	consumer_fixture_close_pool(fixture);
	free(fixture->records);
	test_database_close(fixture->database);
	backend_fixture_tear_down((void **)&fixture->backend);
	free(fixture);
	return 0;
}

int consumer_fixture_reset(void **state)
{
	struct consumer_fixture *fixture = *state;
	test_database_run(
		fixture->database,
		"TRUNCATE visit_log, link_statistics, rollup_delta, rollup_hour, rollup_day, rollup_workspace_hour, "
		"rollup_workspace_day, consumer_offsets");
	return 0;
}

void consumer_fixture_create_topics(struct consumer_fixture *fixture)
{
	fixture->has_topics = true;
	const char *broker = getenv("BROKER");
	if (broker && strcmp(broker, "embedded") == 0) {
		print_message(
			"skipped: the embedded broker cannot create topics; this test needs Apache Kafka\n");
		skip();
	}
	struct kafka_topic topics[3] = { { .partitions = CONSUMER_FIXTURE_PARTITIONS },
		                         { .partitions = 1 },
		                         { .partitions = CONSUMER_FIXTURE_PARTITIONS } };
	snprintf(topics[0].name, sizeof(topics[0].name), "%s", fixture->redirects);
	snprintf(topics[1].name, sizeof(topics[1].name), "%s", fixture->dead_letters);
	snprintf(topics[2].name, sizeof(topics[2].name), "%s", fixture->visits);
	if (fixture->visits_bytes_max) {
		topics[2].setting_count = 1;
		snprintf(topics[2].settings[0].name, sizeof(topics[2].settings[0].name),
		         "max.message.bytes");
		snprintf(topics[2].settings[0].value, sizeof(topics[2].settings[0].value), "%s",
		         fixture->visits_bytes_max);
	}
	const struct kafka_topics_config config = { .kafka = &fixture->backend->kafka,
		                                    .replication = -1,
		                                    .timeout_ms = CONSUMER_FIXTURE_DEADLINE_MS,
		                                    .log = fixture->backend->log };
	/* The topics are created, but batches of producers would not fit into such a topic. */
	enum err wanted = fixture->visits_bytes_max ? ERR_CONFLICT : OK;
	assert_int_equal(kafka_topics_ensure(&config, topics, 3), wanted);
}

struct redirect_event consumer_fixture_click(int64_t link_id, uint32_t visitor)
{
	struct redirect_event click = { .occurred_at_us = clock_now_us(clock_system()),
		                        .link_id = link_id,
		                        .link_version = 1,
		                        .status = 302,
		                        .latency_us = 1000 + visitor % 100,
		                        .method = REDIRECT_METHOD_GET,
		                        .has_visitor_hash = true,
		                        .client_network = "203.0.113.0/24",
		                        .user_agent = CONSUMER_FIXTURE_HUMAN,
		                        .referrer = "https://news.example.com/",
		                        .accept_language = "de",
		                        .query = "utm_source=letter",
		                        .rule = "Germans",
		                        .variant = "B",
		                        .alias = "old",
		                        .is_scan = visitor % 3 == 1 };
	entropy_uuid7(click.occurred_at_us, click.event_id);
	memcpy(click.visitor_hash, &visitor, sizeof(visitor));
	snprintf(click.slug, sizeof(click.slug), "link-%lld", (long long)(link_id % 1000000));
	return click;
}

static void need_topics(struct consumer_fixture *fixture)
{
	if (!fixture->has_topics)
		consumer_fixture_create_topics(fixture);
}

void consumer_fixture_produce_bytes(struct consumer_fixture *fixture, const char *key,
                                    const void *bytes, size_t len)
{
	need_topics(fixture);
	const struct kafka_record record = { .topic = fixture->redirects,
		                             .key = key,
		                             .key_len = strlen(key),
		                             .value = bytes,
		                             .value_len = len };
	assert_int_equal(kafka_producer_send(fixture->producer, &record), OK);
}

void consumer_fixture_produce_batch(struct consumer_fixture *fixture,
                                    const struct redirect_event *clicks, size_t count)
{
	struct strbuf encoded;
	strbuf_init(&encoded, (count + 1) * REDIRECT_EVENT_BYTES_MAX);
	click_batch_encode(clicks, count, &encoded);
	consumer_fixture_produce_bytes(fixture, clicks->slug, encoded.data, encoded.len);
	strbuf_clear(&encoded);
}

void consumer_fixture_produce(struct consumer_fixture *fixture, const struct redirect_event *click)
{
	consumer_fixture_produce_batch(fixture, click, 1);
}

void consumer_fixture_produce_record(struct consumer_fixture *fixture, int64_t first_link,
                                     size_t count)
{
	struct redirect_event *clicks = mem_array(count, sizeof(*clicks));
	for (size_t i = 0; i < count; i++)
		clicks[i] = consumer_fixture_click(first_link + (int64_t)i % 17, (uint32_t)i);
	consumer_fixture_produce_batch(fixture, clicks, count);
	consumer_fixture_flush(fixture);
	free(clicks);
}

void consumer_fixture_produce_clicks(struct consumer_fixture *fixture, int count)
{
	for (int i = 0; i < count; i++) {
		struct redirect_event click = consumer_fixture_click(1 + i % 17, (uint32_t)i);
		consumer_fixture_produce(fixture, &click);
	}
	consumer_fixture_flush(fixture);
}

void consumer_fixture_flush(struct consumer_fixture *fixture)
{
	assert_int_equal(kafka_producer_flush(fixture->producer, CONSUMER_FIXTURE_DEADLINE_MS), OK);
}

struct pg_pool *consumer_fixture_pool(struct consumer_fixture *fixture)
{
	const struct pg_pool_config config = { .url = fixture->pg_url,
		                               .application_name = "test",
		                               .max = 4,
		                               .wait_ms = 5000,
		                               .connect_timeout_ms = 5000,
		                               .statement_timeout_ms = 5000,
		                               .clock = clock_system(),
		                               .log = fixture->backend->log };
	if (!fixture->pool)
		fixture->pool = pg_pool_new(&config);
	return fixture->pool;
}

void consumer_fixture_close_pool(struct consumer_fixture *fixture)
{
	pg_pool_free(fixture->pool);
	fixture->pool = NULL;
}

struct ingest *consumer_fixture_start(struct consumer_fixture *fixture)
{
	size_t i = 0;
	need_topics(fixture);
	while (i < CONSUMER_FIXTURE_INGESTS_MAX - 1 && fixture->ingests[i])
		i++;
	assert_null(fixture->ingests[i]);
	fixture->config.pool = consumer_fixture_pool(fixture);
	if (!fixture->of_ingest[i])
		fixture->of_ingest[i] = enrich_new(fixture->visitor);
	fixture->config.enrich = fixture->of_ingest[i];
	assert_int_equal(ingest_start(&fixture->config, &fixture->ingests[i]), OK);
	return fixture->ingests[i];
}

struct ingest *consumer_fixture_start_zombie(struct consumer_fixture *fixture)
{
	const char *group = fixture->config.group;
	snprintf(fixture->zombie_group, sizeof(fixture->zombie_group), "%s-zombie",
	         fixture->backend->unique);
	fixture->config.group = fixture->zombie_group;
	struct ingest *zombie = consumer_fixture_start(fixture);
	fixture->config.group = group;
	return zombie;
}

struct log_wait {
	const struct backend_fixture *backend;
	const char *text;
	int times;
};

static bool has_logged(void *ctx)
{
	const struct log_wait *wait = ctx;
	return backend_fixture_logged(wait->backend, wait->text) >= wait->times;
}

void consumer_fixture_await_logged(const struct consumer_fixture *fixture, const char *text,
                                   int times)
{
	struct log_wait wait = { fixture->backend, text, times };
	backend_fixture_wait(has_logged, &wait, CONSUMER_FIXTURE_DEADLINE_MS);
}

void consumer_fixture_stop(struct consumer_fixture *fixture, struct ingest *ingest)
{
	for (size_t i = 0; i < CONSUMER_FIXTURE_INGESTS_MAX; i++) {
		if (fixture->ingests[i] == ingest)
			fixture->ingests[i] = NULL;
	}
	ingest_stop(ingest);
}

void consumer_fixture_count_part(struct consumer_fixture *fixture, size_t events)
{
	char sql[200];
	fixture->config.batch_events = events;
	snprintf(sql, sizeof(sql),
	         "ALTER TABLE consumer_offsets ADD CONSTRAINT part "
	         "CHECK (next_offset = 0 AND next_index <= %zu)",
	         events);
	test_database_run(fixture->database, sql);
	struct ingest *ingest = consumer_fixture_start(fixture);
	test_database_await(fixture->database, "SELECT max(next_index) FROM consumer_offsets",
	                    (int64_t)events, CONSUMER_FIXTURE_DEADLINE_MS);
	consumer_fixture_stop(fixture, ingest);
	test_database_run(fixture->database, "ALTER TABLE consumer_offsets DROP CONSTRAINT part");
}

#define COUNTED                                                                                    \
	"SELECT coalesce(sum(visit_count + bot_count), 0)::bigint FROM link_statistics WHERE link_id > 0"

int64_t consumer_fixture_ask(struct consumer_fixture *fixture, const char *sql)
{
	return test_database_ask(fixture->database, sql);
}

void consumer_fixture_await(struct consumer_fixture *fixture, const char *sql, int64_t wanted)
{
	test_database_await(fixture->database, sql, wanted, CONSUMER_FIXTURE_DEADLINE_MS);
}

int64_t consumer_fixture_counted(struct consumer_fixture *fixture)
{
	return test_database_ask(fixture->database, COUNTED);
}

void consumer_fixture_await_counted(struct consumer_fixture *fixture, int64_t count)
{
	test_database_await(fixture->database, COUNTED, count, CONSUMER_FIXTURE_DEADLINE_MS);
}

void consumer_fixture_assert_ledger(struct consumer_fixture *fixture, int64_t count)
{
	static const char *const ledgers[] = {
		COUNTED,
		"SELECT coalesce(sum(visit_count + bot_count), 0)::bigint FROM link_statistics WHERE link_id = 0",
		"SELECT coalesce(sum(latency_count), 0)::bigint FROM link_statistics WHERE link_id = 0",
		"SELECT coalesce(sum(humans + bots), 0)::bigint FROM rollup_hour_entries WHERE dimension = 'quarters'",
		"SELECT coalesce(sum(humans + bots), 0)::bigint FROM rollup_hour_entries WHERE dimension = 'browser'",
		"SELECT count(*) FROM visit_log",
	};
	for (size_t i = 0; i < sizeof(ledgers) / sizeof(ledgers[0]); i++)
		assert_int_equal(test_database_ask(fixture->database, ledgers[i]), count);
	ledger_assert_equal(fixture->database);
}

static void copy_header(const struct kafka_message *m, const char *name, char *out, size_t size)
{
	if (kafka_message_header(m->record, name, out, size) != OK)
		out[0] = '\0';
}

static void copy_record(const struct kafka_message *m, struct consumer_fixture_record *out)
{
	*out = (struct consumer_fixture_record){ .len = m->value_len };
	size_t key_len = m->key_len < sizeof(out->key) ? m->key_len : sizeof(out->key) - 1;
	if (key_len > 0)
		memcpy(out->key, m->key, key_len);
	if (m->value_len > 0)
		memcpy(out->bytes, m->value,
		       m->value_len < sizeof(out->bytes) ? m->value_len : sizeof(out->bytes));
	copy_header(m, "ce_id", out->id, sizeof(out->id));
	copy_header(m, "reason", out->reason, sizeof(out->reason));
	copy_header(m, "topic", out->topic, sizeof(out->topic));
	copy_header(m, "partition", out->partition, sizeof(out->partition));
	copy_header(m, "offset", out->offset, sizeof(out->offset));
	copy_header(m, "index", out->index, sizeof(out->index));
	copy_header(m, "bytes", out->original_bytes, sizeof(out->original_bytes));
}

size_t consumer_fixture_read(struct consumer_fixture *fixture, const char *topic, size_t count)
{
	char group[128];
	struct kafka_consumer *consumer = NULL;
	snprintf(group, sizeof(group), "%s.%lld", topic,
	         (long long)clock_steady_us(clock_system()));
	const struct kafka_consumer_config config = {
		.kafka = &fixture->backend->kafka,
		.group = group,
		.topic = topic,
		.session_timeout_ms = 30000,
		.events = kafka_fixture_from_the_beginning,
		.log = fixture->backend->log,
	};
	assert_int_equal(kafka_consumer_new(&config, &consumer), OK);
	int64_t deadline_ms = backend_fixture_now_ms() + CONSUMER_FIXTURE_DEADLINE_MS;
	int64_t last_ms = backend_fixture_now_ms();
	size_t n = 0;
	while (n < CONSUMER_FIXTURE_RECORDS_MAX &&
	       (n < count || backend_fixture_now_ms() - last_ms < QUIET_MS)) {
		struct kafka_message message;
		if (backend_fixture_now_ms() > deadline_ms)
			fail_msg("%s has %zu records, not %zu", topic, n, count);
		if (kafka_consumer_poll(consumer, 50, &message) != OK)
			continue;
		copy_record(&message, &fixture->records[n++]);
		last_ms = backend_fixture_now_ms();
	}
	kafka_consumer_free(consumer);
	return n;
}

static bool has_position_of(const struct consumer_fixture_record *a,
                            const struct consumer_fixture_record *b)
{
	return strcmp(a->partition, b->partition) == 0 && strcmp(a->offset, b->offset) == 0 &&
	       strcmp(a->index, b->index) == 0;
}

void consumer_fixture_read_letters(struct consumer_fixture *fixture, size_t count)
{
	const struct consumer_fixture_record *records = fixture->records;
	size_t n = consumer_fixture_read(fixture, fixture->dead_letters, count);
	assert_int_equal(n, count);
	for (size_t i = 0; i < n; i++) {
		for (size_t other = 0; other < i; other++)
			assert_false(has_position_of(&records[i], &records[other]));
	}
}
