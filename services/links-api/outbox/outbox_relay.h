/*
 * Publishes committed link changes to Redis and Kafka. Its thread reads the outbox, updates the
 * link in Redis, sends each event to waymark.links.v1 with the slug as key, and deletes the row
 * once Redis has the change and Kafka has acked it. Safe from any thread.
 *
 * Redis comes first, but delays Kafka by at most a quarter of a second. What Redis does not accept
 * in time is retried until it does. Kafka receives each event at least once, and the versions of
 * one link never decrease on the topic:
 *   - One relay of all instances is active at a time (outbox_session.h).
 *   - The next event of a link is sent only after the previous one was acked and recorded.
 *   - A relay sends rows only while it still holds the lock that it held when it read them, and
 *     only within a second after it extended that lock. Kafka's client gives up a record after
 *     three more seconds. So a relay that was frozen cannot send outdated rows.
 *
 * Low-priority rows (lib/links/outbox.h) come after all others at a limited rate, and watermarks do
 * not wait for them. NOTIFY wakes the relay. While active it also checks every 100 ms and publishes
 * watermarks (outbox_watermark.h).
 *
 * The room is a program within links-api, on its lowest floor: it includes nothing of the API, and
 * the API only starts it and asks whether Kafka is reachable.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_RELAY_H
#define WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_RELAY_H

#include <stdbool.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/kafka/kafka_config.h"
#include "lib/links/link_cache.h"
#include "lib/redis/redis_pool.h"

struct outbox_relay;

struct outbox_relay_config {
	const char *pg_url;
	/* Works once the database has it, as pg_pool.h. */
	int64_t schema_version;
	const struct kafka_config *kafka;
	/* Borrowed. */
	struct link_cache *cache;
	/* Borrowed; holds the cache. */
	struct redis_pool *redis;
	int64_t low_priority_per_second;
	const struct clock *clock;
	const struct log *log;
	struct metrics *metrics;
};

/*
 * Does not need PostgreSQL or Kafka to be up. ERR_INVALID: librdkafka rejects its configuration
 * (logged).
 */
enum err outbox_relay_start(const struct outbox_relay_config *config,
                            struct outbox_relay **out) MUST_CHECK;

/* Whether Kafka is reachable from this process (kafka_producer.h), also if another is active. */
bool outbox_relay_reaches_kafka(const struct outbox_relay *relay);

/*
 * Releases the lock, stops the thread and frees the relay. The next active relay sends what was not
 * acked. NULL is allowed.
 */
void outbox_relay_stop(struct outbox_relay *relay);

#endif
