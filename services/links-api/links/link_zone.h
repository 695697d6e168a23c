/*
 * When clocks change in the time zones that rules name. Extras carry it, so that redirectors need no
 * database of zones: the offsets from yesterday on for 15 years, as PostgreSQL knows them when the
 * link is written. After that the last one holds.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_ZONE_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_ZONE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/http/http_problem.h"
#include "lib/links/link_extras.h"
#include "services/links-api/http/request.h"
#include "services/links-api/links/link_extras_request.h"

/*
 * Fills the zones of a request. ERR_INVALID: there is no such zone, which is reported for each rule
 * that names it. Errors of pg_pool_acquire and pg_conn_query pass through. Blocks: for worker threads.
 */
enum err link_zone_fill(const struct request *r, struct link_extras_request *request,
                        struct http_problem_fields *wrong) MUST_CHECK;

/*
 * --- for tests ---
 *
 * Answers with the offsets, in seconds east of UTC, at starts[i] + k * step_s for each k below steps,
 * start after start.
 */
typedef enum err (*link_zone_offsets)(void *ctx, const int64_t *starts, size_t count,
                                      int64_t step_s, size_t steps, int32_t *out);

/* Sets the times and offsets of a zone that has a name. Pure but for ask, whose errors pass through. */
enum err link_zone_find(link_zone_offsets ask, void *ctx, int64_t now_us,
                        Waymark__V1__LinkZone *out) MUST_CHECK;

#endif
