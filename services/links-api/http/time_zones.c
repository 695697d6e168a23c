#include "services/links-api/http/time_zones.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"

/*
 * SQL reads these zone names as abbreviations, and its CET has no daylight saving time. The
 * replacement zones have had the same local time since 1996 at least.
 */
static const struct zone_alias {
	const char *name, *zone;
} zone_aliases[] = {
	{ "CET", "Europe/Brussels" },  { "EET", "Europe/Athens" },   { "EST", "America/Panama" },
	{ "HST", "Pacific/Honolulu" }, { "MET", "Europe/Brussels" }, { "MST", "America/Phoenix" },
	{ "UCT", "Etc/UTC" },          { "WET", "Europe/Lisbon" },   { "Zulu", "Etc/UTC" },
};
#define ZONE_ALIAS_COUNT ARRAY_SIZE(zone_aliases)
#define ZONE_ALIAS_TEXT_SIZE 128
#define ZONES_MAX 2000

const char *time_zones_in_sql(const char *name)
{
	for (size_t i = 0; i < ZONE_ALIAS_COUNT; i++)
		if (strcmp(name, zone_aliases[i].name) == 0)
			return zone_aliases[i].zone;
	return name;
}

static const char zones_sql[] =
	"SELECT name FROM pg_timezone_names AS zone WHERE name !~ '^(posix/|right/|posixrules$|localtime$|Factory$)' "
	"AND (name IN ('UTC', 'GMT') OR name = ANY ($3::text[]) "
	"OR NOT EXISTS (SELECT FROM pg_timezone_abbrevs WHERE lower(abbrev) = lower(name))) "
	"AND length(name) < $1::int ORDER BY name COLLATE \"C\" LIMIT $2::int";

/* Writes the names as an array literal. */
static void write_alias_names(char out[static ZONE_ALIAS_TEXT_SIZE])
{
	size_t len = 0;
	for (size_t i = 0; i < ZONE_ALIAS_COUNT; i++)
		len += (size_t)snprintf(out + len, ZONE_ALIAS_TEXT_SIZE - len, "%c%s",
		                        i == 0 ? '{' : ',', zone_aliases[i].name);
	snprintf(out + len, ZONE_ALIAS_TEXT_SIZE - len, "}");
}

typedef char zone_name[TIME_ZONES_NAME_SIZE];

struct time_zones {
	pthread_mutex_t lock;
	/* 0 = not read yet */
	size_t count;
	/* Sorted by strcmp. */
	zone_name *names;
};

struct time_zones *time_zones_new(void)
{
	struct time_zones *zones = mem_zero(sizeof(*zones));
	pthread_mutex_init(&zones->lock, NULL);
	zones->names = mem_array(ZONES_MAX, sizeof(zone_name));
	return zones;
}

void time_zones_free(struct time_zones *zones)
{
	if (!zones)
		return;
	pthread_mutex_destroy(&zones->lock);
	free(zones->names);
	free(zones);
}

static enum err read_zones(struct time_zones *zones, struct pg_conn *conn)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	char aliases[ZONE_ALIAS_TEXT_SIZE];
	write_alias_names(aliases);
	pg_params_int(&params, TIME_ZONES_NAME_SIZE);
	pg_params_int(&params, ZONES_MAX);
	pg_params_text(&params, aliases);
	enum err err = pg_conn_query(conn, zones_sql, &params, &rows);
	if (err != OK)
		return err;
	zones->count = pg_result_count(rows);
	for (size_t i = 0; i < zones->count; i++)
		snprintf(zones->names[i], sizeof(zone_name), "%s", pg_result_text(rows, i, 0));
	pg_result_free(rows);
	return OK;
}

static int by_name(const void *wanted, const void *name)
{
	return strcmp(wanted, name);
}

enum err time_zones_check(struct time_zones *zones, struct pg_conn *conn, const char *zone)
{
	/* The default zone needs no lookup. */
	if (strcmp(zone, "UTC") == 0)
		return OK;
	pthread_mutex_lock(&zones->lock);
	enum err err = zones->count == 0 ? read_zones(zones, conn) : OK;
	if (err == OK && !bsearch(zone, zones->names, zones->count, sizeof(zone_name), by_name))
		err = ERR_NOT_FOUND;
	pthread_mutex_unlock(&zones->lock);
	return err;
}
