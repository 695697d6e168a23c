/*
 * One thread at a time, as its request. Work with passwords is handed to the threads that are kept for it, which are
 * few: beyond their queue people are asked to come back.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_PASSWORD_DESK_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_PASSWORD_DESK_H

#include <stdbool.h>

#include "lib/base/worker_pool.h"
#include "services/links-api/request.h"

/*
 * True: job will run with arg, which is its own from here on; it ends with http_exchange_resume, and the handler with
 * HTTP_PENDING. False: the request has been answered (429 "busy"), arg is still the caller's.
 */
bool password_desk_submit(struct request *r, worker_pool_job job, void *arg);

/* The same for newcomers: half of the queue is kept for those who have an account. */
bool password_desk_submit_newcomer(struct request *r, worker_pool_job job, void *arg);

/* 429 "busy": to come back after a second. */
void password_desk_refuse(struct request *r);

#endif
