/*
 * Safe from any thread. Brings committed changes of links to Redis and Kafka: a thread that reads the outbox, tells
 * Redis the link's state, sends each event with its slug as the key to waymark.links.v1, and removes it when Redis has
 * it and Kafka has acked it. Redis comes first, but gets a quarter of a second at most; what it has not taken then it
 * is told each second until it has it. To Kafka at least once, and versions of one link never decrease on the topic:
 *   - one relay at a time works, among all instances (fenced_lock "waymark_outbox_relay", at most 5 s, extended);
 *   - a link's next event is sent only when the one before it was acked and that was noted;
 *   - what was read is sent only under the lock under which it was read, nothing later than a second after the lock was
 *     extended, and Kafka's client gives a record up after three more: whoever was frozen meanwhile sends nothing old.
 * Patient rows (lib/links/outbox.h) come behind all others, at most so many a second; no mark of progress waits for
 * them. NOTIFY wakes the relay; while it works it looks every 100 ms anyway, and marks on the topic how far it has come
 * (outbox_progress.h).
 */
#ifndef WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_RELAY_H
#define WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_RELAY_H

#include <stdbool.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/links/link_cache.h"
#include "lib/net/kafka_config.h"
#include "lib/net/redis_pool.h"

#define OUTBOX_RELAY_LOCK "waymark_outbox_relay"

struct outbox_relay;

struct outbox_relay_config {
	const char *pg_url;
	const struct kafka_config *kafka;
	struct link_cache *cache; /* borrowed */
	struct list_cache *lists; /* borrowed */
	struct redis_pool *redis; /* borrowed: where the caches are */
	int64_t patient_per_second;
	const struct clock *clock;
	const struct log *log;
	struct metrics *metrics;
};

/* Works without PostgreSQL and Kafka. ERR_INVALID: librdkafka refuses its configuration (logged). */
enum err outbox_relay_start(const struct outbox_relay_config *config, struct outbox_relay **out) MUST_CHECK;

/* Whether this relay is the one that works. */
bool outbox_relay_is_active(const struct outbox_relay *relay);

/* Lets the lock go, ends the thread and frees; what was not acked is sent by whoever comes next. NULL is allowed. */
void outbox_relay_stop(struct outbox_relay *relay);

#endif
