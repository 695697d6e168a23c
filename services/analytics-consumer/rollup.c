#include "services/analytics-consumer/rollup.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/entropy.h"
#include "lib/base/mem.h"

#define EMPTY UINT32_MAX

/* An open hash table from keys to rows; never more than half full. */
struct rollup {
	uint64_t seed; /* values come from strangers */
	size_t places; /* a power of two */
	uint32_t *table;
	struct rollup_row *rows;
	size_t count;
};

struct rollup *rollup_new(size_t visits_max)
{
	struct rollup *rollup = mem_zero(sizeof(*rollup));
	size_t rows_max = visits_max * ROLLUP_DIMENSIONS;
	rollup->places = 16;
	while (rollup->places < 2 * rows_max)
		rollup->places *= 2;
	entropy_fill(&rollup->seed, sizeof(rollup->seed));
	rollup->table = mem_array(rollup->places, sizeof(*rollup->table));
	rollup->rows = mem_array(rows_max, sizeof(*rollup->rows));
	return rollup;
}

void rollup_free(struct rollup *rollup)
{
	if (!rollup)
		return;
	free(rollup->table);
	free(rollup->rows);
	free(rollup);
}

const char *rollup_dimension_name(enum rollup_dimension dimension)
{
	static const char *const names[ROLLUP_DIMENSIONS] = {
		[ROLLUP_TOTAL] = "total",     [ROLLUP_COUNTRY] = "country", [ROLLUP_REFERRER] = "referrer",
		[ROLLUP_BROWSER] = "browser", [ROLLUP_OS] = "os",           [ROLLUP_DEVICE] = "device",
	};
	return names[dimension];
}

static const char *value_of(const struct visit_event *event, enum rollup_dimension dimension)
{
	switch (dimension) {
	case ROLLUP_COUNTRY:
		return event->country;
	case ROLLUP_REFERRER:
		return event->referrer_host;
	case ROLLUP_BROWSER:
		return event->browser;
	case ROLLUP_OS:
		return event->os;
	case ROLLUP_DEVICE:
		return event->device;
	case ROLLUP_TOTAL:
	case ROLLUP_DIMENSIONS:
		break;
	}
	return "";
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ (hash >> 29);
}

static uint64_t hash_of(const struct rollup *rollup, const struct rollup_row *key)
{
	uint64_t hash = mix(rollup->seed, (uint64_t)key->link_id);
	hash = mix(hash, (uint64_t)key->bucket_us);
	hash = mix(hash, (uint64_t)key->dimension);
	for (const char *c = key->value; *c; c++)
		hash = mix(hash, (uint8_t)*c);
	return mix(hash, rollup->seed);
}

static bool has_key(const struct rollup_row *row, const struct rollup_row *key)
{
	return row->link_id == key->link_id && row->bucket_us == key->bucket_us && row->dimension == key->dimension &&
	       strcmp(row->value, key->value) == 0;
}

static struct rollup_row *find_or_add(struct rollup *rollup, const struct rollup_row *key)
{
	size_t place = hash_of(rollup, key) & (rollup->places - 1);
	while (rollup->table[place] != EMPTY && !has_key(&rollup->rows[rollup->table[place]], key))
		place = (place + 1) & (rollup->places - 1);
	if (rollup->table[place] == EMPTY) {
		rollup->table[place] = (uint32_t)rollup->count;
		rollup->rows[rollup->count++] = *key;
	}
	return &rollup->rows[rollup->table[place]];
}

static void add(struct rollup *rollup, const struct visit *visit)
{
	int64_t occurred_at_us = visit->event.occurred_at_us;
	for (enum rollup_dimension d = 0; d < ROLLUP_DIMENSIONS; d++) {
		struct rollup_row key = { .link_id = visit->event.link_id,
			                  .bucket_us = occurred_at_us - occurred_at_us % CLOCK_US_PER_HOUR,
			                  .dimension = d,
			                  .value = value_of(&visit->event, d) };
		struct rollup_row *row = find_or_add(rollup, &key);
		row->humans += !visit->event.is_bot;
		row->bots += visit->event.is_bot;
	}
}

static int by_key(const void *a, const void *b)
{
	const struct rollup_row *left = a;
	const struct rollup_row *right = b;
	if (left->link_id != right->link_id)
		return left->link_id < right->link_id ? -1 : 1;
	if (left->dimension != right->dimension)
		return left->dimension < right->dimension ? -1 : 1;
	if (left->bucket_us != right->bucket_us)
		return left->bucket_us < right->bucket_us ? -1 : 1;
	return strcmp(left->value, right->value);
}

const struct rollup_row *rollup_sum(struct rollup *rollup, const struct visit *visits, size_t count, size_t *rows)
{
	memset(rollup->table, 0xff, rollup->places * sizeof(*rollup->table));
	rollup->count = 0;
	for (size_t i = 0; i < count; i++) {
		if (visits[i].fate == VISIT_NEW)
			add(rollup, &visits[i]);
	}
	qsort(rollup->rows, rollup->count, sizeof(*rollup->rows), by_key);
	*rows = rollup->count;
	return rollup->rows;
}
