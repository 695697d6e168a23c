/*
 * Judges each URL that a link may lead to, whatever member of a request has it: its form
 * (destination.h, app_url.h), its length, our own hosts, and the hosts that are blocked now. Pure but
 * for the host guard.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_DESTINATIONS_DESTINATION_CHECK_H
#define WAYMARK_SERVICES_LINKS_API_DESTINATIONS_DESTINATION_CHECK_H

#include <stdbool.h>

#include "lib/http/http_problem.h"
#include "lib/json/json.h"
#include "services/links-api/destinations/public_base.h"

/*
 * Returns the normal form, which the caller frees. NULL: value is no URL that links may lead to, and
 * what is wrong with it is reported at pointer. may_be_app: it may have a scheme of
 * DESTINATION_SCHEMES.
 */
char *destination_check(const struct public_base *base, const struct json *value,
                        const char *pointer, bool may_be_app, struct http_problem_fields *wrong);

/* The same for a text that may be any bytes. */
char *destination_check_text(const struct public_base *base, const char *text, const char *pointer,
                             bool may_be_app, struct http_problem_fields *wrong);

/* Whether a normal form has the scheme of an app. */
bool destination_check_is_app(const char *url);

#endif
