#include "services/links-api/statistics/export_limiter.h"

#include <pthread.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"

#define SETTLING_US (60 * CLOCK_US_PER_S)

struct export_limiter {
	pthread_mutex_t lock;
	/* Of each running export; 0 = free. */
	int64_t users[EXPORT_LIMITER_MAX];
};

struct export_limiter *export_limiter_new(void)
{
	struct export_limiter *limiter = mem_zero(sizeof(*limiter));
	pthread_mutex_init(&limiter->lock, NULL);
	return limiter;
}

void export_limiter_free(struct export_limiter *limiter)
{
	if (!limiter)
		return;
	pthread_mutex_destroy(&limiter->lock);
	free(limiter);
}

/* The last entry of a user, or NULL. *count: the number of entries of the user. */
static int64_t *find(struct export_limiter *limiter, int64_t user_id, size_t *count)
{
	int64_t *found = NULL;
	*count = 0;
	for (size_t i = 0; i < EXPORT_LIMITER_MAX; i++) {
		if (limiter->users[i] != user_id)
			continue;
		found = &limiter->users[i];
		(*count)++;
	}
	return found;
}

enum err export_limiter_acquire(struct export_limiter *limiter, int64_t user_id)
{
	size_t own, free_count;
	pthread_mutex_lock(&limiter->lock);
	find(limiter, user_id, &own);
	int64_t *entry = find(limiter, 0, &free_count);
	bool is_within_share = own == 0 || free_count > EXPORT_LIMITER_MAX / 2;
	bool has_room = entry != NULL && is_within_share && own < EXPORT_LIMITER_MAX_PER_USER;
	if (has_room)
		*entry = user_id;
	pthread_mutex_unlock(&limiter->lock);
	return has_room ? OK : ERR_LIMIT;
}

void export_limiter_release(struct export_limiter *limiter, int64_t user_id)
{
	size_t own;
	pthread_mutex_lock(&limiter->lock);
	int64_t *entry = find(limiter, user_id, &own);
	if (entry)
		*entry = 0;
	pthread_mutex_unlock(&limiter->lock);
}

bool export_limiter_is_too_slow(int64_t taking_us, size_t bytes)
{
	return taking_us > SETTLING_US &&
	       (int64_t)bytes < taking_us / CLOCK_US_PER_S * EXPORT_LIMITER_BYTES_PER_S_MIN;
}
