/*
 * Safe from any thread. Keeps the salts of the visitor hashes of yesterday, today and tomorrow
 * (UTC).
 *
 * A thread reads them from PostgreSQL every minute, and every second while today's or tomorrow's is
 * missing. So tomorrow's salt is present before midnight, and yesterday's serves requests that
 * arrived before midnight. Older salts are erased. A click without a salt is recorded without a
 * visitor hash.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_EVENTS_SALT_CACHE_H
#define WAYMARK_SERVICES_REDIRECTOR_EVENTS_SALT_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/clicks/visitor.h"
#include "lib/postgres/pg_pool.h"

struct salt_cache;

struct salt_cache_config {
	/* Borrowed. */
	struct pg_pool *postgres;
	const struct clock *clock;
	const struct log *log;
};

/* Starts the thread. */
struct salt_cache *salt_cache_new(const struct salt_cache_config *config);
void salt_cache_free(struct salt_cache *cache);

/* The salt of the UTC day of time_us, for visitor_hash. False: not known; salt is not written. */
bool salt_cache_get(struct salt_cache *cache, int64_t time_us, struct digest_hmac_key *salt);

#endif
