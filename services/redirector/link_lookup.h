/*
 * Safe from any thread. Click path 2/9. Where a slug leads: memory → Redis → PostgreSQL.
 *
 *   memory      answers in the loop thread, while what it holds is fresh (memory_cache.h)
 *   Redis       asked through the loop's pipeline, all questions of a turn in one write; holds what links-api and the
 *               redirectors put there, for a day; passed over while it cannot be trusted (lib/links/link_cache_trust.h)
 *   gate        keeps invented slugs from PostgreSQL (unknown_gate.h), when neither of the two knows the slug; of one that is
 *               asked for again within a minute, Redis is told that there is none
 *   PostgreSQL  asked by other threads, so that a hung PostgreSQL delays nobody whom Redis can answer
 *
 * There is one flight per slug (flight_table.h). What PostgreSQL says is put into Redis if it is newer, and slugs that
 * it does not know are remembered there for a minute; never in memory, where the link's creation could not reach them.
 * When Redis is away PostgreSQL is asked at once; when PostgreSQL is away (not merely slow), what Redis holds goes on,
 * or else what memory holds, however old; when nobody can tell, the answer is ERR_UNAVAILABLE, never ERR_NOT_FOUND. A
 * version that memory has seen does not go back: a Redis that is behind is passed over.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_LINK_LOOKUP_H
#define WAYMARK_SERVICES_REDIRECTOR_LINK_LOOKUP_H

#include <stddef.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/metrics.h"
#include "lib/links/link_cache.h"
#include "lib/net/pg_pool.h"
#include "services/redirector/change_clock.h"
#include "services/redirector/flight_table.h"
#include "services/redirector/memory_cache.h"
#include "services/redirector/unknown_gate.h"

/* A flight that has not reached PostgreSQL after so long is given up. */
#define LINK_LOOKUP_PATIENCE_US (2 * CLOCK_US_PER_S)

struct link_lookup;

struct link_lookup_config {
	struct memory_cache *memory; /* these five are borrowed */
	struct link_cache *redis;
	struct pg_pool *postgres;
	struct change_clock *changes;
	struct unknown_gate *gate;
	size_t workers;     /* threads for PostgreSQL, and as many for Redis when there is no pipeline */
	size_t flights_max; /* that may wait for a thread; beyond: ERR_UNAVAILABLE */
	const struct clock *clock;
	struct metrics *metrics;
};

struct link_lookup *link_lookup_new(const struct link_lookup_config *config);
/* Waits for flights under way, which end by themselves within seconds. */
void link_lookup_free(struct link_lookup *lookup);

/* Never waits: asks memory alone. ERR_NOT_FOUND: it has no fresh answer; fetch. */
enum err link_lookup_recall(struct link_lookup *lookup, const char *slug, size_t slug_len,
                            struct link_entry *out) MUST_CHECK;

/* Who asks. */
struct link_lookup_passenger {
	flight_landed landed;
	void (*leaves_loop)(
		void *passenger); /* told first, if another thread will tell landed although fetch gave true */
	void *ctx;
	void *passenger;
};

/*
 * Never waits: landed is told once, as a rule later, with OK and the entry, ERR_NOT_FOUND (never issued, or purged) or
 * ERR_UNAVAILABLE. pipeline: the way to Redis of the calling thread's loop; NULL, or while it has no connection: a
 * worker asks Redis. True: later, in the pipeline's thread, which is told to leaves_loop before it is not so any more;
 * false: by any thread, perhaps it has happened already.
 */
bool link_lookup_fetch(struct link_lookup *lookup, struct redis_pipeline *pipeline, const char *slug, size_t slug_len,
                       const struct link_lookup_passenger *who);

#endif
