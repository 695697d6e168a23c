/*
 * Parses the request to block a host: {host, with_subdomains? (true), reason? ("")}. Pure. Writes
 * the host in the normal form of destination_host.h, without a trailing dot: "bücher.example"
 * becomes xn--bcher-kva.example.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_DESTINATIONS_HOST_REQUEST_H
#define WAYMARK_SERVICES_LINKS_API_DESTINATIONS_HOST_REQUEST_H

#include "lib/base/err.h"
#include "lib/http/http_problem.h"
#include "lib/json/json.h"
#include "lib/links/blocked_host_store.h"

/* ERR_INVALID: wrong lists every invalid member. */
enum err host_request_read(const struct json *object, struct blocked_host *out,
                           struct http_problem_fields *wrong) MUST_CHECK;

#endif
