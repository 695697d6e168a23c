/*
 * Safe from any thread after geoip_open. Looks up the place of a network in a database in MaxMind's
 * format (libmaxminddb): the country and, with a city database, its subdivision and the city.
 *
 * The file is copied into memory, so that a program that overwrites it cannot affect look-ups.
 * geoip_reload reads the file again. Look-ups continue during a reload and wait only while a
 * pointer is replaced.
 */
#ifndef WAYMARK_LIB_VISITORS_GEOIP_H
#define WAYMARK_LIB_VISITORS_GEOIP_H

#include "lib/base/err.h"
#include "lib/base/log.h"

#define GEOIP_COUNTRY_SIZE 3
#define GEOIP_REGION_SIZE 8
#define GEOIP_CITY_SIZE 64
/* The largest accepted file. */
#define GEOIP_BYTES_MAX ((int64_t)2 * 1024 * 1024 * 1024)

struct geoip;

struct geoip_place {
	/* ISO 3166-1 alpha-2; "" = unknown. */
	char country[GEOIP_COUNTRY_SIZE];
	/* ISO 3166-2, "DE-BY", the largest subdivision; "" = unknown. */
	char region[GEOIP_REGION_SIZE];
	/* English name, cut at a character; "" = unknown. */
	char city[GEOIP_CITY_SIZE];
};

/*
 * path is borrowed; "" means no database, and every place is unknown. ERR_INVALID: the file cannot
 * be read, is not a database or has no places, as one of ASNs (logged).
 */
enum err geoip_open(const char *path, const struct log *log, struct geoip **out) MUST_CHECK;
void geoip_close(struct geoip *geoip);

/*
 * ERR_INVALID: the file is not a database, is damaged or has no places (logged). The database read
 * before stays in use.
 */
enum err geoip_reload(struct geoip *geoip) MUST_CHECK;

/* Grows with each reload: what was looked up before is outdated. */
unsigned geoip_generation(const struct geoip *geoip);

/* network: "203.0.113.0/24", "2001:db8:1::/48" or an address. Other places are unknown. */
void geoip_lookup(struct geoip *geoip, const char *network, struct geoip_place *out);

#endif
