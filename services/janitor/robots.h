/*
 * Pure. What a robots.txt (RFC 9309) says of the pause between two requests: the directive Crawl-delay, which is no
 * part of the RFC but widely written. Its rules on paths are for crawlers; a page that a person has linked is looked
 * at, not crawled.
 */
#ifndef WAYMARK_SERVICES_JANITOR_ROBOTS_H
#define WAYMARK_SERVICES_JANITOR_ROBOTS_H

#include <stddef.h>
#include <stdint.h>

/* Longer pauses are read as this one. */
#define ROBOTS_DELAY_MS_MAX INT64_C(86400000)

/*
 * Milliseconds that agent (a product token, any case) has to wait: of the groups that name it, else of those for "*";
 * the longest if there are several; 0 = none. text: any bytes.
 */
int64_t robots_delay_ms(const char *text, size_t len, const char *agent);

#endif
