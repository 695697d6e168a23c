/*
 * Pure. Reads the pause between two requests from a robots.txt (RFC 9309): the directive
 * Crawl-delay, which is not part of the RFC, but widely used. The rules on paths are for crawlers
 * and are ignored, because a destination check only looks at a page that a person has linked.
 */
#ifndef WAYMARK_SERVICES_JANITOR_DESTINATIONS_ROBOTS_H
#define WAYMARK_SERVICES_JANITOR_DESTINATIONS_ROBOTS_H

#include <stddef.h>
#include <stdint.h>

/* Longer delays are cut to this one. */
#define ROBOTS_DELAY_MS_MAX INT64_C(86400000)

/*
 * The delay in milliseconds for agent (a product token, any case); 0 = none. The groups that name
 * the agent decide, or else those for "*". The longest delay of several wins. text may hold any
 * bytes.
 */
int64_t robots_delay_ms(const char *text, size_t len, const char *agent);

#endif
