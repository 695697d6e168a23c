/*
 * One thread at a time. The whole redirector: main runs one, and tests start one in their own
 * process.
 *
 * It starts whether or not its backends are up. /readyz requires three things:
 *   - PostgreSQL or Redis can be reached. One of them is enough: Redis holds every link followed
 *     within a day, PostgreSQL holds all. With both down, a redirector that has links in memory
 *     stays ready as "degraded": it answers these links, and no other one could answer more. One
 *     with an empty memory could only answer 503.
 *   - The journal's directory can be written. A pod with a broken disk still redirects, but loses
 *     clicks that another pod would keep.
 *   - The database schema is one that this version supports.
 * Kafka is not part of it. A redirect never waits for Kafka, and taking redirectors out of service
 * would lose clicks instead of saving them.
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

/*
 * config, clock, log and metrics are borrowed. ERR_INVALID, ERR_NOT_FOUND: REDIS_URL, PAGES_FILE,
 * OPERATOR_LOGO_FILE, GEOIP_DB, UA_REGEXES or a Kafka variable is rejected (logged).
 */
enum err redirector_new(const struct config *config, const struct clock *clock,
                        const struct log *log, struct metrics *metrics,
                        struct redirector **out) MUST_CHECK;

/* Opens both ports. ERR_UNAVAILABLE: a port is not available (logged). */
enum err redirector_serve(struct redirector *redirector) MUST_CHECK;

uint16_t redirector_http_port(const struct redirector *redirector);
uint16_t redirector_ops_port(const struct redirector *redirector);

/*
 * Call it after redirector_serve. /readyz fails at once. Requests are still accepted, and the
 * shipper goes on sending their events and those that wait in the journal. DRAIN_NOTICE_MS later
 * the running requests are completed and the last events flushed, together within DRAIN_MS; then
 * the ports are closed. ERR_UNAVAILABLE: Kafka did not acknowledge all events in time.
 */
enum err redirector_drain(struct redirector *redirector) MUST_CHECK;

void redirector_free(struct redirector *redirector);

#endif
