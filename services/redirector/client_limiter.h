/*
 * Safe from any thread. Limits how many unknown slugs a client address may request per minute, so
 * that invented slugs cost the stores little. It says nothing about slugs that exist: redirect.h.
 *
 * An IPv6 address counts as its /64, which one client controls, and as its /48, which one site may
 * have and which may miss four times as often (lib/base/limiter.h). A request counts once its slug
 * has turned out to be unknown, so requests that run at the same time are not stopped.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_CLIENT_LIMITER_H
#define WAYMARK_SERVICES_REDIRECTOR_CLIENT_LIMITER_H

#include <stdint.h>

#include "lib/base/client_ip.h"
#include "lib/base/clock.h"

struct client_limiter;

/* per_minute 0: no limit. */
struct client_limiter *client_limiter_new(int64_t per_minute, const struct clock *clock);
void client_limiter_free(struct client_limiter *limiter);

/* Call this after an unknown slug. An address that is not known is not counted. */
void client_limiter_record_miss(struct client_limiter *limiter, const struct client_ip *ip);

/* 0: the request may proceed. Otherwise the seconds, 1 to 60, after which the address may retry. */
int64_t client_limiter_retry_after_s(struct client_limiter *limiter, const struct client_ip *ip);

#endif
