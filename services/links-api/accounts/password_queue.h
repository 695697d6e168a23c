/*
 * Hands password checks to their few worker threads. When the queue is full, the client gets 429
 * with Retry-After. Not thread-safe: one thread at a time per request.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_PASSWORD_QUEUE_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_PASSWORD_QUEUE_H

#include <stdbool.h>

#include "lib/base/worker_pool.h"
#include "services/links-api/request.h"

/*
 * True: job runs later with arg, which it then owns. It ends with http_exchange_resume, and the
 * handler returns HTTP_PENDING. False: the response is complete (429 "busy"), and the caller still
 * owns arg.
 */
bool password_queue_submit(struct request *r, worker_pool_job job, void *arg);

/*
 * The same for registrations, which may fill only half of the queue: the rest is for existing
 * accounts.
 */
bool password_queue_submit_registration(struct request *r, worker_pool_job job, void *arg);

/* Sends 429 "busy" with Retry-After: 1. */
void password_queue_send_busy(struct request *r);

#endif
