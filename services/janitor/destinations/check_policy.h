/* Pure. Decides whether a destination counts as dead, and when it is checked again. */
#ifndef WAYMARK_SERVICES_JANITOR_DESTINATIONS_CHECK_POLICY_H
#define WAYMARK_SERVICES_JANITOR_DESTINATIONS_CHECK_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* The longest interval between checks of a dead destination. */
#define CHECK_POLICY_RETRY_S_MAX INT64_C(2592000)
#define CHECK_POLICY_FAILURES_MAX INT64_C(1000)

/*
 * status is as in link_check_store.h. No answer, 4xx and 5xx are dead. Exceptions are statuses of a
 * server that refuses this request only: 401, 403, 405, 406, 407, 429, 451, and the non-standard
 * 999 that some sites send to programs.
 */
bool check_policy_is_dead(int status);

/*
 * Seconds to the next check. Without failures: recheck_s. Otherwise retry_s, doubled with each
 * further consecutive failure, at most CHECK_POLICY_RETRY_S_MAX. The link's id adds up to a tenth,
 * so that links created together are not checked together.
 */
int64_t check_policy_next_s(int64_t recheck_s, int64_t retry_s, int64_t failures, int64_t link_id);

#endif
