/*
 * One thread at a time. For tests: a database and topics of a test's own, redirectors to pretend to be, and consumers
 * in this process. Every failure ends the test.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_ANALYTICS_CONSUMER_WORLD_H
#define WAYMARK_TESTS_INTEGRATION_ANALYTICS_CONSUMER_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/clicks/redirect_event.h"
#include "lib/net/kafka_consumer.h"
#include "lib/net/kafka_producer.h"
#include "services/analytics-consumer/ingest.h"
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
	char reason[128];    /* headers of a dead letter, as they are */
	char topic[80];
	char partition[16];
	char offset[24];
	char original_bytes[24];
};

struct world {
	struct net_fixture *fixture; /* its log is the consumers' */
	struct test_database *database;
	char pg_url[TEST_DATABASE_URL_SIZE]; /* with the consumer's rights; may be led through a proxy */
	char redirects[80];
	char dead_letters[80];
	char visits[80];
	char zombie_group[80];
	const char *visits_bytes_max; /* of the topic of visits, before it is made; NULL = the broker's */
	struct kafka_producer *producer;
	struct enrich_sources sources; /* of owners */
	struct user_agent_parser *parsers[WORLD_INGESTS_MAX];
	struct pg_pool *pool;
	struct ingest_config config; /* change it before world_start */
	struct ingest *ingests[WORLD_INGESTS_MAX];
	struct world_record *records; /* room for WORLD_RECORDS_MAX that world_read gives */
};

/* Test or group set-up and tear-down: *state is the world. The topics come with world_make_topics. */
int world_open(void **state);
int world_close(void **state);
/* Test set-up in a group: nothing has been counted. */
int world_reset(void **state);

/* Skips the test, and says so, where the broker makes no topics. */
void world_make_topics(struct world *world);

/* A click of a human, now, with ids of its own; visitor tells the visitors apart. */
struct redirect_event world_click(int64_t link_id, uint32_t visitor);
void world_produce(struct world *world, const struct redirect_event *click);
void world_produce_bytes(struct world *world, const char *key, const void *bytes, size_t len);
/* Waits until Kafka has all that was produced. */
void world_flush(struct world *world);

/* A pool with the consumer's rights; statements end after 5 s. */
struct pg_pool *world_pool(struct world *world);
/* Before a proxy that it leads through ends. */
void world_close_pool(struct world *world);

/* A consumer in this process; world_close ends those that the test has not. */
struct ingest *world_start(struct world *world);
/* One in a group of its own: it believes for ever that all partitions are its own. At most one of them. */
struct ingest *world_start_zombie(struct world *world);
void world_stop(struct world *world, struct ingest *ingest);

/* Humans and bots of all links, and the same sum by every other book. */
int64_t world_counted(struct world *world);
void world_await_counted(struct world *world, int64_t count);
void world_assert_books(struct world *world, int64_t count);

/*
 * Reads topic from its beginning into world->records until it has count of them and none has come for half a second;
 * gives their number.
 */
size_t world_read(struct world *world, const char *topic, size_t count);

#endif
