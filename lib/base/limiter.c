#include "lib/base/limiter.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/entropy.h"
#include "lib/base/hash_table.h"
#include "lib/base/mem.h"

/* So many of the oldest subjects are compared when one must go. */
#define COMPARED 16

struct subject {
	uint64_t id;
	/* Steady; when it owes nothing any more. */
	int64_t free_at_us;
	int64_t running;
	/* Steady; when reservations that were not released end. */
	int64_t hold_end_us;
	UT_hash_handle hh;
};

struct limiter {
	const struct clock *clock;
	uint64_t seed;
	/* Guards subjects. */
	pthread_mutex_t lock;
	struct subject *subjects;
};

/* --- the rule --- */

int64_t limiter_event_us(const struct limiter_rule *rule)
{
	return rule->max < rule->window_us ? rule->window_us / rule->max : 1;
}

int64_t limiter_left(const struct limiter_rule *rule, int64_t owed_us)
{
	int64_t event_us = limiter_event_us(rule);
	int64_t used = (owed_us + event_us - 1) / event_us;
	return used < rule->max ? rule->max - used : 0;
}

int64_t limiter_wait_us(const struct limiter_rule *rule, int64_t owed_us)
{
	int64_t wait_us = owed_us - (rule->max - 1) * limiter_event_us(rule);
	return wait_us > 0 ? wait_us : 0;
}

int64_t limiter_count(const struct limiter_rule *rule, int64_t owed_us, int64_t events)
{
	int64_t event_us = limiter_event_us(rule);
	int64_t most_us = (2 * rule->max - 1) * event_us;
	owed_us += events * event_us;
	if (owed_us < 0)
		return 0;
	return owed_us < most_us ? owed_us : most_us;
}

/* --- many subjects --- */

struct limiter *limiter_new(const struct clock *clock)
{
	struct limiter *limiter = mem_zero(sizeof(*limiter));
	limiter->clock = clock;
	entropy_fill(&limiter->seed, sizeof(limiter->seed));
	pthread_mutex_init(&limiter->lock, NULL);
	return limiter;
}

static void drop(struct limiter *limiter, struct subject *subject)
{
	HASH_DEL(limiter->subjects, subject);
	free(subject);
}

void limiter_free(struct limiter *limiter)
{
	if (!limiter)
		return;
	while (limiter->subjects)
		drop(limiter, limiter->subjects);
	pthread_mutex_destroy(&limiter->lock);
	free(limiter);
}

/*
 * The one that owes least of the oldest, of those without reservations if there is one. The others
 * become the newest, so that all take turns.
 */
static void drop_one(struct limiter *limiter)
{
	struct subject *least = NULL;
	for (size_t i = 0; i < COMPARED; i++) {
		struct subject *oldest = limiter->subjects;
		if (oldest->running == 0 && (!least || oldest->free_at_us < least->free_at_us))
			least = oldest;
		HASH_DEL(limiter->subjects, oldest);
		HASH_ADD(hh, limiter->subjects, id, sizeof(oldest->id), oldest);
	}
	drop(limiter, least ? least : limiter->subjects);
}

/* Locks the table. With creates, never NULL. */
static struct subject *lock_subject(struct limiter *limiter, const void *key, size_t len,
                                    bool creates, int64_t now_us)
{
	uint64_t id = hash_table_hash(limiter->seed, key, len);
	struct subject *subject;
	pthread_mutex_lock(&limiter->lock);
	HASH_FIND(hh, limiter->subjects, &id, sizeof(id), subject);
	if (!subject && creates) {
		if (HASH_COUNT(limiter->subjects) == LIMITER_SUBJECTS_MAX)
			drop_one(limiter);
		subject = mem_zero(sizeof(*subject));
		subject->id = id;
		HASH_ADD(hh, limiter->subjects, id, sizeof(id), subject);
	}
	if (subject && subject->hold_end_us <= now_us)
		subject->running = 0;
	return subject;
}

static int64_t owed_us(const struct subject *subject, int64_t now_us)
{
	return subject && subject->free_at_us > now_us ? subject->free_at_us - now_us : 0;
}

int64_t limiter_owed_us(struct limiter *limiter, const void *key, size_t len)
{
	int64_t now_us = clock_steady_us(limiter->clock);
	int64_t owed = owed_us(lock_subject(limiter, key, len, false, now_us), now_us);
	pthread_mutex_unlock(&limiter->lock);
	return owed;
}

int64_t limiter_add(struct limiter *limiter, const void *key, size_t len,
                    const struct limiter_rule *rule, int64_t events)
{
	int64_t now_us = clock_steady_us(limiter->clock);
	struct subject *subject = lock_subject(limiter, key, len, true, now_us);
	int64_t owed = limiter_count(rule, owed_us(subject, now_us), events);
	subject->free_at_us = now_us + owed;
	pthread_mutex_unlock(&limiter->lock);
	return owed;
}

void limiter_set_owed(struct limiter *limiter, const void *key, size_t len, int64_t owed)
{
	int64_t now_us = clock_steady_us(limiter->clock);
	struct subject *subject = lock_subject(limiter, key, len, owed > 0, now_us);
	if (subject)
		subject->free_at_us = now_us + owed;
	pthread_mutex_unlock(&limiter->lock);
}

enum err limiter_reserve(struct limiter *limiter, const void *key, size_t len,
                         const struct limiter_rule *rule, int64_t hold_us)
{
	int64_t now_us = clock_steady_us(limiter->clock);
	struct subject *subject = lock_subject(limiter, key, len, true, now_us);
	bool has_room = subject->running < limiter_left(rule, owed_us(subject, now_us));
	if (has_room) {
		subject->running++;
		subject->hold_end_us = now_us + hold_us;
	}
	pthread_mutex_unlock(&limiter->lock);
	return has_room ? OK : ERR_LIMIT;
}

void limiter_release(struct limiter *limiter, const void *key, size_t len)
{
	int64_t now_us = clock_steady_us(limiter->clock);
	struct subject *subject = lock_subject(limiter, key, len, false, now_us);
	if (subject && subject->running > 0)
		subject->running--;
	pthread_mutex_unlock(&limiter->lock);
}
