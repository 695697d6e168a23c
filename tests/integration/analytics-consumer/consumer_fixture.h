/*
 * One thread at a time. For tests: a database and topics for one test, a producer that replaces the
 * redirectors, and consumers in this process. Every error fails the test.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_ANALYTICS_CONSUMER_CONSUMER_FIXTURE_H
#define WAYMARK_TESTS_INTEGRATION_ANALYTICS_CONSUMER_CONSUMER_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/clicks/redirect_event.h"
#include "lib/kafka/kafka_consumer.h"
#include "lib/kafka/kafka_producer.h"
#include "lib/visitors/visitor_facts.h"
#include "services/analytics-consumer/facts/enrich.h"
#include "services/analytics-consumer/ingest/ingest.h"
#include "tests/integration/backend/backend_fixture.h"
#include "tests/support/test_database.h"

#define CONSUMER_FIXTURE_PARTITIONS 4
#define CONSUMER_FIXTURE_INGESTS_MAX 4
#define CONSUMER_FIXTURE_DEADLINE_MS 300000
#define CONSUMER_FIXTURE_HUMAN                                                                     \
	"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"

#define CONSUMER_FIXTURE_RECORDS_MAX 4000

struct consumer_fixture_record {
	char key[64];
	size_t len;
	/* Of the value, at most. */
	uint8_t bytes[4096];
	/* Header ce_id. */
	char id[64];
	/* This and the following: headers of a dead letter. */
	char reason[128];
	char topic[80];
	char partition[16];
	char offset[24];
	char index[24];
	char original_bytes[24];
};

struct consumer_fixture {
	/* Its log is the log of the consumers. */
	struct backend_fixture *backend;
	struct test_database *database;
	/* With the consumer's rights; a test may route it through a proxy. */
	char pg_url[TEST_DATABASE_URL_SIZE];
	char redirects[80];
	char dead_letters[80];
	char visits[80];
	char zombie_group[80];
	/* False: the first record or consumer creates them. */
	bool has_topics;
	/* max.message.bytes of the topic of visits, set before it is created; NULL = the broker's. */
	const char *visits_bytes_max;
	struct kafka_producer *producer;
	struct visitor_facts *visitor;
	/* For struct partition_owner. */
	struct enrich *enrich;
	/* Of each consumer's own, because only one thread at a time may use it. */
	struct enrich *of_ingest[CONSUMER_FIXTURE_INGESTS_MAX];
	struct pg_pool *pool;
	/* A test may change it before consumer_fixture_start. */
	struct ingest_config config;
	struct ingest *ingests[CONSUMER_FIXTURE_INGESTS_MAX];
	/* The result of consumer_fixture_read; capacity CONSUMER_FIXTURE_RECORDS_MAX. */
	struct consumer_fixture_record *records;
};

/* Set-up and tear-down of a test or a group. *state is the fixture. */
int consumer_fixture_open(void **state);
int consumer_fixture_close(void **state);
/* Set-up of a test in a group: empties all tables of counts. */
int consumer_fixture_reset(void **state);

/*
 * For topics with other names than before. Skips the test, with a message, when the broker cannot
 * create topics.
 */
void consumer_fixture_create_topics(struct consumer_fixture *fixture);

/* A click by a human, now, with a unique event id. visitor identifies the visitor. */
struct redirect_event consumer_fixture_click(int64_t link_id, uint32_t visitor);
/* A record with one click. The key of all records is a slug, which determines the partition. */
void consumer_fixture_produce(struct consumer_fixture *fixture, const struct redirect_event *click);
/* One record with all these clicks. */
void consumer_fixture_produce_batch(struct consumer_fixture *fixture,
                                    const struct redirect_event *clicks, size_t count);
/* count records with one click each, or one with count clicks, on seventeen links; waits for Kafka. */
void consumer_fixture_produce_clicks(struct consumer_fixture *fixture, int count);
void consumer_fixture_produce_record(struct consumer_fixture *fixture, int64_t first_link,
                                     size_t count);
void consumer_fixture_produce_bytes(struct consumer_fixture *fixture, const char *key,
                                    const void *bytes, size_t len);
/* Waits until Kafka has acknowledged everything. */
void consumer_fixture_flush(struct consumer_fixture *fixture);

/* A pool with the consumer's rights and a statement timeout of 5 s. */
struct pg_pool *consumer_fixture_pool(struct consumer_fixture *fixture);
/* Call it before freeing a proxy through which the pool is routed. */
void consumer_fixture_close_pool(struct consumer_fixture *fixture);

/* Starts a consumer in this process. consumer_fixture_close stops those that the test did not. */
struct ingest *consumer_fixture_start(struct consumer_fixture *fixture);
/*
 * Starts a consumer in a group of its own, so that it always considers itself the owner of all
 * partitions. At most one.
 */
struct ingest *consumer_fixture_start_zombie(struct consumer_fixture *fixture);
/* Waits until the consumers of this test have logged text so many times. */
void consumer_fixture_await_logged(const struct consumer_fixture *fixture, const char *text,
                                   int times);
#define CONSUMER_FIXTURE_ASSIGNED "kafka_partitions_assigned"
/* Of two that compete, one is always fenced, maybe after the other has counted everything. */
#define CONSUMER_FIXTURE_FENCED "batch_fenced"
void consumer_fixture_stop(struct consumer_fixture *fixture, struct ingest *ingest);

/*
 * Counts so many events of the first record of a partition and stops, as a consumer does that dies
 * between two transactions of a record. Leaves batches of that size configured. The topic has nothing
 * but records that are longer.
 */
void consumer_fixture_count_part(struct consumer_fixture *fixture, size_t events);

/* What the database answers, and until it answers wanted. */
int64_t consumer_fixture_ask(struct consumer_fixture *fixture, const char *sql);
void consumer_fixture_await(struct consumer_fixture *fixture, const char *sql, int64_t wanted);

/*
 * The visits counted for all links. consumer_fixture_assert_ledger compares this number with every
 * other table.
 */
int64_t consumer_fixture_counted(struct consumer_fixture *fixture);
void consumer_fixture_await_counted(struct consumer_fixture *fixture, int64_t count);
void consumer_fixture_assert_ledger(struct consumer_fixture *fixture, int64_t count);

/*
 * Reads topic from its beginning into fixture->records, until it has count records and no more have
 * arrived for half a second. Returns their number.
 */
size_t consumer_fixture_read(struct consumer_fixture *fixture, const char *topic, size_t count);

/*
 * Reads the dead letters as consumer_fixture_read does. There must be count, each of another
 * position: only a process or connection that dies repeats a letter.
 */
void consumer_fixture_read_letters(struct consumer_fixture *fixture, size_t count);

#endif
