/*
 * One thread at a time. For tests: a database and topics for one test, a producer that replaces the
 * redirectors, and consumers in this process. Every error fails the test.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_ANALYTICS_CONSUMER_WORLD_H
#define WAYMARK_TESTS_INTEGRATION_ANALYTICS_CONSUMER_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/clicks/redirect_event.h"
#include "lib/net/kafka_consumer.h"
#include "lib/net/kafka_producer.h"
#include "services/analytics-consumer/ingest/ingest.h"
#include "tests/integration/net/net_fixture.h"
#include "tests/support/test_database.h"

#define WORLD_PARTITIONS 4
#define WORLD_INGESTS_MAX 4
#define WORLD_DEADLINE_MS 60000
#define WORLD_HUMAN                                                                                                    \
	"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"

#define WORLD_RECORDS_MAX 4000

struct world_record {
	char key[64];
	size_t len;
	uint8_t bytes[4096]; /* of the value, at most */
	char id[64];         /* header ce_id */
	char reason[128];    /* this and the following: headers of a dead letter */
	char topic[80];
	char partition[16];
	char offset[24];
	char original_bytes[24];
};

struct world {
	struct net_fixture *backend; /* its log is the log of the consumers */
	struct test_database *database;
	char pg_url[TEST_DATABASE_URL_SIZE]; /* with the consumer's rights; a test may route it through a proxy */
	char redirects[80];
	char dead_letters[80];
	char visits[80];
	char zombie_group[80];
	const char *
		visits_bytes_max; /* max.message.bytes of the topic of visits, set before world_make_topics; NULL = the broker's */
	struct kafka_producer *producer;
	struct enrich_sources sources; /* for struct owner */
	struct user_agent_parser *parsers[WORLD_INGESTS_MAX];
	struct pg_pool *pool;
	struct ingest_config config; /* a test may change it before world_start */
	struct ingest *ingests[WORLD_INGESTS_MAX];
	struct world_record *records; /* the result of world_read; capacity WORLD_RECORDS_MAX */
};

/*
 * Set-up and tear-down of a test or a group. *state is the fixture. world_make_topics creates the
 * topics.
 */
int world_open(void **state);
int world_close(void **state);
/* Set-up of a test in a group: empties all tables of counts. */
int world_reset(void **state);

/* Skips the test, with a message, when the broker cannot create topics. */
void world_make_topics(struct world *fixture);

/* A click by a human, now, with a unique event id. visitor identifies the visitor. */
struct redirect_event world_click(int64_t link_id, uint32_t visitor);
void world_produce(struct world *fixture, const struct redirect_event *click);
void world_produce_bytes(struct world *fixture, const char *key, const void *bytes, size_t len);
/* Waits until Kafka has acknowledged everything. */
void world_flush(struct world *fixture);

/* A pool with the consumer's rights and a statement timeout of 5 s. */
struct pg_pool *world_pool(struct world *fixture);
/* Call it before freeing a proxy through which the pool is routed. */
void world_close_pool(struct world *fixture);

/* Starts a consumer in this process. world_close stops those that the test did not. */
struct ingest *world_start(struct world *fixture);
/*
 * Starts a consumer in a group of its own, so that it always considers itself the owner of all
 * partitions. At most one.
 */
struct ingest *world_start_zombie(struct world *fixture);
void world_stop(struct world *fixture, struct ingest *ingest);

/*
 * The visits counted for all links. world_assert_books compares this number with every other table.
 */
int64_t world_counted(struct world *fixture);
void world_await_counted(struct world *fixture, int64_t count);
void world_assert_books(struct world *fixture, int64_t count);

/*
 * Reads topic from its beginning into fixture->records, until it has count records and no more have
 * arrived for half a second. Returns their number.
 */
size_t world_read(struct world *fixture, const char *topic, size_t count);

#endif
