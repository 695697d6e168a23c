/*
 * One thread at a time: the relay's, while it holds the lock. Keeps Redis free of what is old
 * (docs/decisions/0012-generation-of-redis.md). Tells Redis what waits for it in the outbox, and as long as all of it
 * is told announces the generation of Redis' content again and again. The generation is raised, in PostgreSQL first,
 *
 *   when another server answers than the one it was raised for,
 *   when what waits could not be told within 250 ms, or a second if Redis answers all the same,
 *   when Redis has heard of a higher one (PostgreSQL came back from a backup).
 *
 * From the raising to the announcement nothing of that generation is in Redis, so whatever waits need not be told: it
 * is forgotten, many rows at a time. An outage thus costs one raising and no backlog, however long it is.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_GENERATION_H
#define WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_GENERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/net/fenced_lock.h"
#include "lib/net/pg_conn.h"
#include "lib/net/redis_pool.h"
#include "services/links-api/outbox/outbox_teller.h"

#define OUTBOX_GENERATION_PERIOD_MS 100

enum outbox_generation_reason {
	OUTBOX_GENERATION_NEW_SERVER,
	OUTBOX_GENERATION_UNTOLD,
	OUTBOX_GENERATION_BEHIND,
	OUTBOX_GENERATION_REASONS,
};

struct outbox_generation {
	struct outbox_teller *teller; /* borrowed; its generation and server are set here */
	struct redis_pool *redis;     /* borrowed, as the rest */
	const struct clock *clock;
	const struct log *log;
	struct metric *raises[OUTBOX_GENERATION_REASONS];

	int64_t tended_us; /* steady, as all of these */
	int64_t behind_us; /* since when something waits that could not be told; 0 = nothing does */
	bool is_raised;    /* and nobody has heard of it in Redis */
	int64_t offset_us; /* from steady time to Redis' */
};

void outbox_generation_init(struct outbox_generation *g, struct outbox_teller *teller, struct redis_pool *redis,
                            const struct clock *clock, const struct log *log, struct metrics *metrics);

/* Another relay may work from now on. */
void outbox_generation_leave(struct outbox_generation *g);

/*
 * Does its work if it is time; takes little more than 250 ms at worst. held_us: the steady time at which the lock was
 * last known to be ours, for at least LOCK_MS from then.
 */
void outbox_generation_tend(struct outbox_generation *g, struct pg_conn *conn, const struct fenced_lock *lock,
                            int64_t held_us);

#endif
