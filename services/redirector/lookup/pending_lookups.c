#include "services/redirector/lookup/pending_lookups.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"

struct lookup_waiter {
	struct lookup_waiter *older;
	pending_lookups_callback on_done;
	void *ctx;
	void *waiter;
	int64_t joined_us;
};

struct pending_lookups {
	pthread_mutex_t lock;
	pthread_cond_t empty;
	struct pending_lookup *by_key;
};

struct pending_lookups *pending_lookups_new(void)
{
	struct pending_lookups *table = mem_zero(sizeof(*table));
	pthread_mutex_init(&table->lock, NULL);
	pthread_cond_init(&table->empty, NULL);
	return table;
}

void pending_lookups_free(struct pending_lookups *table)
{
	if (!table)
		return;
	pthread_mutex_lock(&table->lock);
	while (table->by_key)
		pthread_cond_wait(&table->empty, &table->lock);
	pthread_mutex_unlock(&table->lock);
	pthread_cond_destroy(&table->empty);
	pthread_mutex_destroy(&table->lock);
	free(table);
}

static struct pending_lookup *create(struct pending_lookups *table, const char *key, size_t key_len,
                                     int64_t now_us)
{
	struct pending_lookup *lookup = mem_zero(sizeof(*lookup));
	lookup->started_us = lookup->queried_us = now_us;
	memcpy(lookup->key, key, key_len);
	HASH_ADD(hh, table->by_key, key, key_len, lookup);
	return lookup;
}

struct pending_lookup *pending_lookups_join(struct pending_lookups *table, const char *key,
                                            size_t key_len, int64_t now_us,
                                            pending_lookups_callback on_done, void *ctx,
                                            void *waiter)
{
	struct lookup_waiter *joining = mem_zero(sizeof(*joining));
	*joining = (struct lookup_waiter){
		.on_done = on_done, .ctx = ctx, .waiter = waiter, .joined_us = now_us
	};

	pthread_mutex_lock(&table->lock);
	struct pending_lookup *lookup;
	HASH_FIND(hh, table->by_key, key, key_len, lookup);
	bool is_leader = !lookup;
	if (is_leader)
		lookup = create(table, key, key_len, now_us);
	joining->older = lookup->waiters;
	lookup->waiters = joining;
	lookup->waiter_count++;
	pthread_mutex_unlock(&table->lock);
	return is_leader ? lookup : NULL;
}

void pending_lookups_start_query(struct pending_lookups *table, struct pending_lookup *lookup,
                                 int64_t now_us)
{
	pthread_mutex_lock(&table->lock);
	lookup->joined_before_query = lookup->waiter_count;
	lookup->queried_us = now_us;
	pthread_mutex_unlock(&table->lock);
}

static bool is_too_late(const struct pending_lookup *lookup, const struct lookup_waiter *waiter)
{
	return waiter->joined_us - lookup->queried_us > PENDING_LOOKUPS_RESULT_MAX_AGE_US;
}

/* Removes the waiters for which the result holds. Late waiters are the head of the list. */
static struct lookup_waiter *take_served(struct pending_lookup *lookup, enum err result)
{
	struct lookup_waiter **first = &lookup->waiters;
	size_t joined_after_query = lookup->waiter_count - lookup->joined_before_query;
	size_t late = 0;
	bool is_unknown = result == ERR_NOT_FOUND || result == ERR_CONFLICT;
	while (*first && ((is_unknown && late < joined_after_query) ||
	                  (result == OK && is_too_late(lookup, *first)))) {
		first = &(*first)->older;
		late++;
	}
	struct lookup_waiter *served = *first;
	*first = NULL;
	lookup->waiter_count = late;
	lookup->joined_before_query = 0;
	return served;
}

bool pending_lookups_complete(struct pending_lookups *table, struct pending_lookup *lookup,
                              enum err result, const struct link_entry *entry)
{
	pthread_mutex_lock(&table->lock);
	struct lookup_waiter *served = take_served(lookup, result);
	bool is_complete = lookup->waiter_count == 0;
	if (is_complete) {
		HASH_DEL(table->by_key, lookup);
		if (!table->by_key)
			pthread_cond_signal(&table->empty);
	}
	pthread_mutex_unlock(&table->lock);
	if (is_complete)
		free(lookup);

	while (served) {
		struct lookup_waiter *next = served->older;
		served->on_done(served->ctx, served->waiter, result, entry);
		free(served);
		served = next;
	}
	return is_complete;
}

size_t pending_lookups_count(struct pending_lookups *table)
{
	pthread_mutex_lock(&table->lock);
	size_t count = HASH_COUNT(table->by_key);
	pthread_mutex_unlock(&table->lock);
	return count;
}
