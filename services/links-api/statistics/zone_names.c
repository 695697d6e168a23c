#include "services/links-api/statistics/zone_names.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/links-api/statistics/local_calendar.h"

typedef char zone_name[LOCAL_CALENDAR_ZONE_SIZE];

struct zone_names {
	pthread_mutex_t lock;
	/* 0 = not read yet. */
	size_t count;
	zone_name *names;
};

struct zone_names *zone_names_new(void)
{
	struct zone_names *names = mem_zero(sizeof(*names));
	pthread_mutex_init(&names->lock, NULL);
	names->names = mem_array(LOCAL_CALENDAR_ZONES_MAX, sizeof(zone_name));
	return names;
}

void zone_names_free(struct zone_names *names)
{
	if (!names)
		return;
	pthread_mutex_destroy(&names->lock);
	free(names->names);
	free(names);
}

static int by_name(const void *wanted, const void *name)
{
	return strcmp(wanted, name);
}

enum err zone_names_check(struct zone_names *names, struct pg_conn *conn, const char *zone)
{
	/* The default zone needs no lookup. */
	if (strcmp(zone, "UTC") == 0)
		return OK;
	enum err err = OK;
	pthread_mutex_lock(&names->lock);
	if (names->count == 0)
		err = local_calendar_read_zones(conn, names->names, &names->count);
	const void *found = NULL;
	if (err == OK)
		found = bsearch(zone, names->names, names->count, sizeof(zone_name), by_name);
	pthread_mutex_unlock(&names->lock);
	if (err != OK)
		return err;
	return found ? OK : ERR_NOT_FOUND;
}
