/*
 * Pure. HEALTH_URLS: where the other processes answer /readyz. A list of NAME=http://HOST:PORT,
 * separated by commas or white space. Only operators set it, so any host is allowed: there is no
 * server-side request forgery to prevent.
 *
 *   redirector=http://redirector-ops:9090,janitor=http://janitor-ops:9090
 */
#ifndef WAYMARK_SERVICES_LINKS_API_HEALTH_HEALTH_TARGET_H
#define WAYMARK_SERVICES_LINKS_API_HEALTH_HEALTH_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

#define HEALTH_TARGETS_MAX 16
#define HEALTH_TARGET_NAME_SIZE 33

struct health_target {
	/* A to z, digits and dashes. */
	char name[HEALTH_TARGET_NAME_SIZE];
	/* A name or an address, IPv6 without brackets. */
	char host[254];
	char port[6];
};

/* ERR_INVALID: entry is not NAME=http://HOST:PORT. */
enum err health_target_parse(const char *entry, struct health_target *out) MUST_CHECK;

/* Whether name is that of a service: redirector, links-api, analytics-consumer or janitor. */
bool health_target_is_service(const char *name);

/* Parses the list. ERR_INVALID: an entry is malformed. ERR_LIMIT: over HEALTH_TARGETS_MAX. */
enum err health_target_parse_list(const char *list,
                                  struct health_target targets[static HEALTH_TARGETS_MAX],
                                  size_t *count) MUST_CHECK;

#endif
