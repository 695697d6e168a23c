#include "services/links-api/stats/export_desk.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/mem.h"

struct export_desk {
	pthread_mutex_t lock;
	int64_t users[EXPORT_DESK_MAX]; /* 0 = a free place */
};

struct export_desk *export_desk_new(void)
{
	struct export_desk *desk = mem_zero(sizeof(*desk));
	pthread_mutex_init(&desk->lock, NULL);
	return desk;
}

void export_desk_free(struct export_desk *desk)
{
	if (!desk)
		return;
	pthread_mutex_destroy(&desk->lock);
	free(desk);
}

/* A place of the user's, or NULL; *count says how many there are. */
static int64_t *find(struct export_desk *desk, int64_t user_id, size_t *count)
{
	int64_t *found = NULL;
	*count = 0;
	for (size_t i = 0; i < EXPORT_DESK_MAX; i++) {
		if (desk->users[i] != user_id)
			continue;
		found = &desk->users[i];
		(*count)++;
	}
	return found;
}

enum err export_desk_begin(struct export_desk *desk, int64_t user_id)
{
	size_t own, places;
	pthread_mutex_lock(&desk->lock);
	find(desk, user_id, &own);
	int64_t *place = find(desk, 0, &places);
	bool has_room = place != NULL && own < EXPORT_DESK_MAX_PER_USER;
	if (has_room)
		*place = user_id;
	pthread_mutex_unlock(&desk->lock);
	return has_room ? OK : ERR_LIMIT;
}

void export_desk_end(struct export_desk *desk, int64_t user_id)
{
	size_t own;
	pthread_mutex_lock(&desk->lock);
	int64_t *place = find(desk, user_id, &own);
	if (place)
		*place = 0;
	pthread_mutex_unlock(&desk->lock);
}
