/*
 * One thread at a time. The service, put together: what main runs, and what tests start in their own process. It starts
 * whether or not its backends are there. Ready means: PostgreSQL can be reached. Redis and Kafka are no part of it:
 * without them links can still be made, changed and read, and their events wait in the outbox.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_API_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_API_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "services/links-api/config.h"

struct links_api;

/* All are borrowed. ERR_INVALID: REDIS_URL or a Kafka variable is refused (logged). */
enum err links_api_new(const struct config *config, const struct log *log, struct metrics *metrics,
                       struct links_api **out) MUST_CHECK;

/* Opens both ports. ERR_UNAVAILABLE: one cannot be had (logged). */
enum err links_api_serve(struct links_api *service) MUST_CHECK;

uint16_t links_api_http_port(const struct links_api *service);
uint16_t links_api_ops_port(const struct links_api *service);

/* Not ready; requests under way are answered, within DRAIN_MS; the ports are closed. Also after a failed serve. */
void links_api_drain(struct links_api *service);

/* After drain. NULL is allowed. */
void links_api_free(struct links_api *service);

#endif
