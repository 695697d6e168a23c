/*
 * Whether a request may queue a mail (lib/mail/mail_outbox.h). There is mail if MAIL_FROM is set;
 * without it, callers queue nothing. Safe from any thread.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_MAIL_MAIL_QUEUE_H
#define WAYMARK_SERVICES_LINKS_API_MAIL_MAIL_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "services/links-api/http/rate_limit.h"
#include "services/links-api/http/request.h"

/* Whether this instance sends mail. */
bool mail_queue_is_on(const struct request *r);

/*
 * Counts a mail that the request causes: for the person who asks (or the network, without a login),
 * and for the address, whoever asks. Call it before the transaction. ERR_LIMIT: send nothing; rule
 * and reset_s are what response_rate_limited needs.
 */
enum err mail_queue_count(const struct request *r, const char *to, struct rate_limit_rule *rule,
                          int64_t *reset_s) MUST_CHECK;

#endif
