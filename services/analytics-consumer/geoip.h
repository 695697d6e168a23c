/*
 * Safe from any thread after geoip_open. Where a network is, by a database in MaxMind's format (libmaxminddb): country,
 * and with a city database the city.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_GEOIP_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_GEOIP_H

#include "lib/base/err.h"
#include "lib/base/log.h"

#define GEOIP_COUNTRY_SIZE 3
#define GEOIP_CITY_SIZE 64

struct geoip;

struct geoip_place {
	char country[GEOIP_COUNTRY_SIZE]; /* ISO 3166-1 alpha-2; "" = unknown */
	char city[GEOIP_CITY_SIZE];       /* English name, cut at a character; "" = unknown */
};

/* path "" = no database: every place is unknown. ERR_INVALID: it cannot be read as one (logged). */
enum err geoip_open(const char *path, const struct log *log, struct geoip **out) MUST_CHECK;
void geoip_close(struct geoip *geoip);

/* network: "203.0.113.0/24", "2001:db8:1::/48", an address, or "". Anything else is unknown. */
void geoip_find(const struct geoip *geoip, const char *network, struct geoip_place *out);

#endif
