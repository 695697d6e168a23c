/*
 * One thread at a time. The redirector, put together: what main runs, and what tests start in their own process.
 *
 * It starts whether or not its backends are there. Ready means: PostgreSQL or Redis can be reached. One of them is
 * enough to lead visitors (Redis holds what was followed within a day, PostgreSQL everything), so a pod stays ready
 * when the other dies; with both away it could only answer 503, and at start it would, too. And the journal's folder
 * can be written: a pod whose disk is broken redirects on, but loses clicks that another pod would keep. Kafka is no
 * part of it: a redirect never waits for Kafka, and taking redirectors out of service would lose clicks instead of
 * saving them.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_REDIRECTOR_H
#define WAYMARK_SERVICES_REDIRECTOR_REDIRECTOR_H

#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "services/redirector/config.h"

struct redirector;

/* config, clock, log and metrics are borrowed. ERR_INVALID: REDIS_URL or a Kafka variable is refused (logged). */
enum err redirector_new(const struct config *config, const struct clock *clock, const struct log *log,
                        struct metrics *metrics, struct redirector **out) MUST_CHECK;

/* Opens both ports. ERR_UNAVAILABLE: one cannot be had (logged). */
enum err redirector_serve(struct redirector *redirector) MUST_CHECK;

uint16_t redirector_http_port(const struct redirector *redirector);
uint16_t redirector_ops_port(const struct redirector *redirector);

/*
 * After serve: not ready; DRAIN_NOTICE_MS later requests under way are answered and events flushed, all within DRAIN_S,
 * and the ports closed.
 * ERR_UNAVAILABLE: Kafka did not take all events in time.
 */
enum err redirector_drain(struct redirector *redirector) MUST_CHECK;

void redirector_free(struct redirector *redirector);

#endif
