/*
 * Hands password checks to their few worker threads. When the queue is full, the client gets 429
 * with Retry-After. Not thread-safe: one thread at a time per request.
 *
 * Each kind may fill only its share of the queue, so a flood of one leaves room for the next:
 *
 *   registrations        half
 *   other logins         three quarters
 *   priority             everything, and before all others
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_PASSWORD_QUEUE_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_PASSWORD_QUEUE_H

#include <stdbool.h>

#include "lib/base/worker_pool.h"
#include "services/links-api/http/request.h"

enum password_queue_kind {
	PASSWORD_QUEUE_REGISTRATION,
	PASSWORD_QUEUE_LOGIN,
	PASSWORD_QUEUE_PRIORITY, /* login_attempt.has_priority */
};

/*
 * True: job runs later with arg, which it then owns. It ends with http_exchange_resume, and the
 * handler returns HTTP_PENDING. False: the response is complete (429 "busy"), and the caller still
 * owns arg.
 */
bool password_queue_submit(struct request *r, enum password_queue_kind kind, worker_pool_job job,
                           void *arg);

/* Sends 429 "busy" with Retry-After: 1. */
void password_queue_send_busy(struct request *r);

#endif
