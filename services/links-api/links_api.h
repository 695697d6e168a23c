/*
 * The whole service: main runs it, and tests start it in their own process. It starts even if its
 * backends are down. Ready means that PostgreSQL is reachable. Redis and Kafka do not affect
 * readiness: without them the API still works, and events wait in the outbox. Not thread-safe.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_API_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_API_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "services/links-api/http/config.h"

struct links_api;

/* All arguments are borrowed. ERR_INVALID: REDIS_URL or a Kafka variable is invalid (logged). */
enum err links_api_new(const struct config *config, const struct log *log, struct metrics *metrics,
                       struct links_api **out) MUST_CHECK;

/* Opens both ports. ERR_UNAVAILABLE: a port could not be opened (logged). */
enum err links_api_serve(struct links_api *service) MUST_CHECK;

uint16_t links_api_http_port(const struct links_api *service);
uint16_t links_api_ops_port(const struct links_api *service);

/*
 * Turns /readyz off, completes running requests within DRAIN_MS and closes the ports. Also valid
 * after a failed links_api_serve.
 */
void links_api_drain(struct links_api *service);

/* Call after links_api_drain. NULL is allowed. */
void links_api_free(struct links_api *service);

#endif
