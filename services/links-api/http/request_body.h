/* Reads the JSON body of a request. Not thread-safe: one thread at a time per exchange. */
#ifndef WAYMARK_SERVICES_LINKS_API_HTTP_REQUEST_BODY_H
#define WAYMARK_SERVICES_LINKS_API_HTTP_REQUEST_BODY_H

#include <stdbool.h>

#include "lib/json/json.h"

struct request;

/*
 * Parses the body, which must be a JSON object. Release it with json_free. NULL: the request is
 * invalid and the response is already complete (400, 411 or 415).
 */
struct json *request_body_read(struct request *r);

/* True if there is no body, or its type is JSON. False: the response is complete (415). */
bool request_body_check_type(struct request *r);

#endif
