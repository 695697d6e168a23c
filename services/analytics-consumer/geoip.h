/*
 * Safe from any thread after geoip_open. Where a network is, by a database in MaxMind's format (libmaxminddb): country,
 * and with a city database the subdivision of the country and the city.
 *
 * The file is copied into memory, so whoever writes into it while it is used changes nothing. geoip_reread takes what
 * the file holds now; look-ups go on meanwhile, and wait only while one pointer changes.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_GEOIP_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_GEOIP_H

#include "lib/base/err.h"
#include "lib/base/log.h"

#define GEOIP_COUNTRY_SIZE 3
#define GEOIP_REGION_SIZE 8
#define GEOIP_CITY_SIZE 64
/* Of the file. */
#define GEOIP_BYTES_MAX ((int64_t)2 * 1024 * 1024 * 1024)

struct geoip;

struct geoip_place {
	char country[GEOIP_COUNTRY_SIZE]; /* ISO 3166-1 alpha-2; "" = unknown */
	char region[GEOIP_REGION_SIZE];   /* ISO 3166-2, "DE-BY", the largest subdivision; "" = unknown */
	char city[GEOIP_CITY_SIZE];       /* English name, cut at a character; "" = unknown */
};

/* path (borrowed) "" = no database: every place is unknown. ERR_INVALID: it cannot be read as one (logged). */
enum err geoip_open(const char *path, const struct log *log, struct geoip **out) MUST_CHECK;
void geoip_close(struct geoip *geoip);

/* ERR_INVALID: the file is no database, or a broken one (logged); what was there before stays. */
enum err geoip_reread(struct geoip *geoip) MUST_CHECK;

/* network: "203.0.113.0/24", "2001:db8:1::/48", an address, or "". Anything else is unknown. */
void geoip_find(struct geoip *geoip, const char *network, struct geoip_place *out);

#endif
