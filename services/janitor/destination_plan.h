/*
 * Pure. Whether a destination is taken for dead, and when it is asked again.
 */
#ifndef WAYMARK_SERVICES_JANITOR_DESTINATION_PLAN_H
#define WAYMARK_SERVICES_JANITOR_DESTINATION_PLAN_H

#include <stdbool.h>
#include <stdint.h>

/* Dead ones are asked at least as often. */
#define DESTINATION_PLAN_RETRY_S_MAX INT64_C(2592000)
#define DESTINATION_PLAN_FAILURES_MAX INT64_C(1000)

/*
 * status as in link_check_store.h. No answer, 4xx and 5xx are dead, but not those that say that somebody is at home:
 * 401, 403, 405, 406, 407, 429, 451, and 999, which some sites send to programs.
 */
bool destination_plan_is_dead(int status);

/*
 * Seconds to the next check: recheck_s, or, after failures dead ones in a row, retry_s doubled with each, at most
 * DESTINATION_PLAN_RETRY_S_MAX. Up to a tenth is added by the link's id, so that links made together part.
 */
int64_t destination_plan_next_s(int64_t recheck_s, int64_t retry_s, int64_t failures, int64_t link_id);

#endif
