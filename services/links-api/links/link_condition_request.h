/*
 * Reads what must hold for a rule: {country, region, city, device, os, browser, language,
 * referrer_host, query, visitor, from, until, days, time_from, time_until, time_zone}. Pure. Internal
 * to link_rule_request.c.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_CONDITION_REQUEST_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_CONDITION_REQUEST_H

#include "services/links-api/links/link_rule_request.h"

/* Adds the conditions to rule, and the zones to r->extras. parent: the pointer of when. */
void link_condition_request_read(const struct link_extras_reading *r, const struct json *when,
                                 const char *parent, Waymark__V1__LinkRule *rule);

#endif
