#include "services/redirector/flight_table.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/redirector/slug_hash.h"

/* Flights last milliseconds: chains stay short even when thousands are on their way. */
#define BUCKETS 1024

struct flight_passenger {
	struct flight_passenger *next; /* the one who came before */
	flight_landed landed;
	void *ctx;
	void *passenger;
	int64_t boarded_us;
};

struct flight_table {
	pthread_mutex_t lock;
	pthread_cond_t empty;
	struct slug_hash_key key;
	size_t count;
	struct flight *buckets[BUCKETS];
};

struct flight_table *flight_table_new(void)
{
	struct flight_table *table = mem_zero(sizeof(*table));
	pthread_mutex_init(&table->lock, NULL);
	pthread_cond_init(&table->empty, NULL);
	slug_hash_key_draw(&table->key);
	return table;
}

void flight_table_free(struct flight_table *table)
{
	if (!table)
		return;
	pthread_mutex_lock(&table->lock);
	while (table->count > 0)
		pthread_cond_wait(&table->empty, &table->lock);
	pthread_mutex_unlock(&table->lock);
	pthread_cond_destroy(&table->empty);
	pthread_mutex_destroy(&table->lock);
	free(table);
}

static struct flight **find_place(struct flight_table *table, uint64_t hash, const char *slug)
{
	struct flight **place = &table->buckets[hash % BUCKETS];
	while (*place && ((*place)->hash != hash || strcmp((*place)->slug, slug) != 0))
		place = &(*place)->chain;
	return place;
}

static struct flight *begin(struct flight_table *table, uint64_t hash, const char *slug, int64_t now_us)
{
	struct flight *flight = mem_zero(sizeof(*flight));
	flight->hash = hash;
	flight->began_us = flight->asked_us = now_us;
	memcpy(flight->slug, slug, strlen(slug));
	table->count++;
	return flight;
}

struct flight *flight_table_board(struct flight_table *table, const char *slug, size_t slug_len, int64_t now_us,
                                  flight_landed landed, void *ctx, void *passenger)
{
	char text[SLUG_SIZE] = { 0 };
	memcpy(text, slug, slug_len);
	uint64_t hash = slug_hash(&table->key, slug, slug_len);
	struct flight_passenger *boarding = mem_zero(sizeof(*boarding));
	*boarding =
		(struct flight_passenger){ .landed = landed, .ctx = ctx, .passenger = passenger, .boarded_us = now_us };

	pthread_mutex_lock(&table->lock);
	struct flight **place = find_place(table, hash, text);
	bool is_new = *place == NULL;
	if (is_new)
		*place = begin(table, hash, text, now_us);
	struct flight *flight = *place;
	boarding->next = flight->passengers;
	flight->passengers = boarding;
	flight->count++;
	pthread_mutex_unlock(&table->lock);
	return is_new ? flight : NULL;
}

void flight_table_ask(struct flight_table *table, struct flight *flight, int64_t now_us)
{
	pthread_mutex_lock(&table->lock);
	flight->asked_for = flight->count;
	flight->asked_us = now_us;
	pthread_mutex_unlock(&table->lock);
}

static bool is_late(const struct flight *flight, const struct flight_passenger *passenger)
{
	return passenger->boarded_us - flight->asked_us > FLIGHT_TABLE_AGE_US;
}

/* Takes those off board for whom the answer holds. The newest stand first, so the late ones are the list's head. */
static struct flight_passenger *unload(struct flight *flight, enum err result)
{
	struct flight_passenger **first = &flight->passengers;
	size_t after_question = flight->count - flight->asked_for;
	size_t late = 0;
	while (*first &&
	       ((result == ERR_NOT_FOUND && late < after_question) || (result == OK && is_late(flight, *first)))) {
		first = &(*first)->next;
		late++;
	}
	struct flight_passenger *leaving = *first;
	*first = NULL;
	flight->count = late;
	flight->asked_for = 0;
	return leaving;
}

bool flight_table_land(struct flight_table *table, struct flight *flight, enum err result,
                       const struct link_entry *entry)
{
	pthread_mutex_lock(&table->lock);
	struct flight_passenger *leaving = unload(flight, result);
	bool is_over = flight->count == 0;
	if (is_over) {
		*find_place(table, flight->hash, flight->slug) = flight->chain;
		if (--table->count == 0)
			pthread_cond_signal(&table->empty);
	}
	pthread_mutex_unlock(&table->lock);
	if (is_over)
		free(flight);

	while (leaving) {
		struct flight_passenger *next = leaving->next;
		leaving->landed(leaving->ctx, leaving->passenger, result, entry);
		free(leaving);
		leaving = next;
	}
	return is_over;
}

size_t flight_table_count(struct flight_table *table)
{
	pthread_mutex_lock(&table->lock);
	size_t count = table->count;
	pthread_mutex_unlock(&table->lock);
	return count;
}
