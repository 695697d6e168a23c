/*
 * Reads the rules of a link from JSON: [{name, when: {…}, then, url?, fallback_url?}]. Pure but for
 * the host guard of destinations. Internal to link_extras_request.c.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_RULE_REQUEST_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_RULE_REQUEST_H

#include "lib/http/http_problem.h"
#include "lib/json/json.h"
#include "lib/links/link_extras.h"
#include "services/links-api/destinations/public_base.h"

/* Where a body is being read to. */
struct link_extras_reading {
	const struct public_base *base;
	/* All that it points to is allocated by malloc. */
	struct Waymark__V1__LinkExtras *extras;
	struct http_problem_fields *wrong;
};

/*
 * Adds rules, and the zones that they name, without transitions. value: the member "rules". Each wrong
 * value is reported by its pointer, "/rules/3/when/country/0".
 */
void link_rule_request_read(const struct link_extras_reading *r, const struct json *value);

/*
 * The name of a rule or a variant: required, 1 to LINK_NAME_CHARS_MAX characters. The caller owns the
 * copy; "" after a report.
 */
char *link_rule_request_name(const struct link_extras_reading *r, const struct json *object,
                             const char *parent);

#endif
