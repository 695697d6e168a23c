/*
 * Safe from any thread. How many unknown slugs an address has tried lately, so that guessing slugs is slow. Counts per
 * address in windows of a minute that begin with its first unknown slug. Bounded: a table of fixed size, in which a new
 * address takes the place of the one whose window is oldest; addresses are kept as keyed hashes. An IPv6 address stands
 * for its /64. A try counts when it has turned out to be one: those that are under way at the same time go on.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_UNKNOWN_LIMIT_H
#define WAYMARK_SERVICES_REDIRECTOR_UNKNOWN_LIMIT_H

#include <stdint.h>

#include "lib/net/client_ip.h"

struct unknown_limit;

/* per_minute 0: never a limit. */
struct unknown_limit *unknown_limit_new(int64_t per_minute);
void unknown_limit_free(struct unknown_limit *limit);

/* After an unknown slug was asked for. An address that is not known is nobody's: it is not counted. now_us: steady. */
void unknown_limit_count(struct unknown_limit *limit, const struct client_ip *ip, int64_t now_us);

/* 0: go on. Otherwise the seconds, 1 to 60, after which the address may try again. */
int64_t unknown_limit_wait_s(struct unknown_limit *limit, const struct client_ip *ip, int64_t now_us);

#endif
