/*
 * Safe from any thread. The documents under /.well-known/ by which phones learn which links an app
 * opens: the table app_documents, which administrators write. A thread reads it every interval_ms,
 * and every second while PostgreSQL is down; what was read last stays meanwhile. Apple and Google
 * want JSON, 200 and no redirect.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_PAGES_APP_DOCUMENTS_H
#define WAYMARK_SERVICES_REDIRECTOR_PAGES_APP_DOCUMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/http/http_server.h"
#include "lib/postgres/pg_pool.h"

struct app_documents;

/* Starts the thread. postgres is borrowed; one connection at a time is used. */
struct app_documents *app_documents_start(struct pg_pool *postgres, int64_t interval_ms);
/* NULL is allowed. */
void app_documents_stop(struct app_documents *documents);

/*
 * Answers the path of a document that exists: 200. False: it is no such path, or there is no such
 * document.
 */
bool app_documents_respond(struct app_documents *documents, struct http_exchange *x,
                           const char *path);

#endif
