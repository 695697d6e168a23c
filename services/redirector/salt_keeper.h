/*
 * Safe from any thread. The salts of the visitor hashes of yesterday, today and tomorrow (UTC), read from PostgreSQL by
 * a thread of its own: every minute, and every second while today's or tomorrow's is missing. Tomorrow's is at hand
 * before midnight, yesterday's for the requests that arrived before it; older ones are forgotten. A click without a
 * salt goes on without a visitor hash.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_SALT_KEEPER_H
#define WAYMARK_SERVICES_REDIRECTOR_SALT_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/clicks/visitor.h"
#include "lib/net/pg_pool.h"

struct salt_keeper;

struct salt_keeper_config {
	struct pg_pool *postgres; /* borrowed */
	const struct clock *clock;
	const struct log *log;
};

/* Starts the thread. */
struct salt_keeper *salt_keeper_new(const struct salt_keeper_config *config);
void salt_keeper_free(struct salt_keeper *keeper);

/* The salt of the UTC day of time_us, for visitor_hash. False: not known; salt is not written. */
bool salt_keeper_get(struct salt_keeper *keeper, int64_t time_us, struct digest_hmac_key *salt);

#endif
