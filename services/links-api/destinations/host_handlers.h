/*
 * HTTP handlers for the hosts that administrators block as destinations. A change takes effect at
 * once in this process, and in the others as host_guard.h says. Not thread-safe: one thread at a
 * time per exchange.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_DESTINATIONS_HOST_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_DESTINATIONS_HOST_HANDLERS_H

#include "lib/http/http_problem.h"
#include "lib/http/http_server.h"
#include "lib/json/json.h"
#include "lib/links/blocked_host_store.h"

/*
 * Pure. Reads a host to block: {host, with_subdomains? (true), reason? ("")}. The host is in the
 * normal form of destination_host.h, without a trailing dot: "bücher.example" becomes
 * xn--bcher-kva.example. ERR_INVALID: wrong lists every invalid member.
 */
enum err host_handlers_read_body(const struct json *object, struct blocked_host *out,
                                 struct http_problem_fields *wrong) MUST_CHECK;

/* GET /api/admin/hosts → 200 {hosts}, sorted by name */
enum http_progress host_handlers_list(void *ctx, struct http_exchange *x);

/*
 * POST /api/admin/hosts → 201 {host}, 400, 409 "host-taken" or "too-many-hosts"
 * (BLOCKED_HOST_STORE_MAX)
 */
enum http_progress host_handlers_create(void *ctx, struct http_exchange *x);

/* DELETE /api/admin/hosts/{id} → 204, 404 */
enum http_progress host_handlers_delete(void *ctx, struct http_exchange *x);

#endif
