#include "services/analytics-consumer/storage/rollup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/hash_table.h"
#include "lib/base/mem.h"
#include "lib/clicks/rollup_list.h"

#define US_PER_QUARTER (CLOCK_US_PER_HOUR / 4)
#define QUARTERS_OF_A_DAY 96
/* The keys of the table are whole rows. */
#undef HASH_KEYCMP
#define HASH_KEYCMP(a, b, len) (!has_key_of((a), (b)))

struct entry {
	UT_hash_handle hh;
};

struct rollup {
	uint64_t seed;
	char quarters[QUARTERS_OF_A_DAY][3];
	struct rollup_row *rows;
	size_t count;
	/* One for each row, with the same index. */
	struct entry *entries;
	struct entry *by_key;
};

struct rollup *rollup_new(size_t visits_max)
{
	struct rollup *rollup = mem_zero(sizeof(*rollup));
	size_t rows_max = visits_max * ROLLUP_DIMENSIONS;
	rollup->seed = hash_table_seed();
	for (unsigned i = 0; i < QUARTERS_OF_A_DAY; i++)
		snprintf(rollup->quarters[i], sizeof(rollup->quarters[i]), "%u",
		         i % QUARTERS_OF_A_DAY);
	rollup->rows = mem_array(rows_max, sizeof(*rollup->rows));
	rollup->entries = mem_array(rows_max, sizeof(*rollup->entries));
	return rollup;
}

void rollup_free(struct rollup *rollup)
{
	if (!rollup)
		return;
	free(rollup->entries);
	free(rollup->rows);
	free(rollup);
}

static const char *value_of(const struct visit_event *event, enum rollup_dimension dimension)
{
	switch (dimension) {
	case ROLLUP_COUNTRY:
		return event->country;
	case ROLLUP_CITY:
		return event->city;
	case ROLLUP_REGION:
		return event->region;
	case ROLLUP_REFERRER:
		return event->referrer_host;
	case ROLLUP_BROWSER:
		return event->browser;
	case ROLLUP_OS:
		return event->os;
	case ROLLUP_DEVICE:
		return event->device;
	case ROLLUP_LANGUAGE:
		return event->language;
	case ROLLUP_UTM_SOURCE:
		return event->utm_source;
	case ROLLUP_UTM_MEDIUM:
		return event->utm_medium;
	case ROLLUP_UTM_CAMPAIGN:
		return event->utm_campaign;
	case ROLLUP_QUARTERS:
	case ROLLUP_DIMENSIONS:
		break;
	}
	return "";
}

static bool has_key_of(const struct rollup_row *row, const struct rollup_row *key)
{
	return row->link_id == key->link_id && row->hour_us == key->hour_us &&
	       row->dimension == key->dimension && strcmp(row->value, key->value) == 0;
}

static unsigned hash_of(const struct rollup *rollup, const struct rollup_row *key)
{
	const int64_t list[] = { key->link_id, key->hour_us + (int64_t)key->dimension };
	uint64_t hash = hash_table_hash(rollup->seed, list, sizeof(list));
	return (unsigned)hash_table_hash(hash, key->value, strlen(key->value));
}

/* Adds the counts of row to the row with the same key. */
static void add(struct rollup *rollup, const struct rollup_row *row)
{
	unsigned hash = hash_of(rollup, row);
	struct entry *entry;
	HASH_FIND_BYHASHVALUE(hh, rollup->by_key, row, sizeof(*row), hash, entry);
	if (entry) {
		struct rollup_row *known = &rollup->rows[entry - rollup->entries];
		known->humans += row->humans;
		known->bots += row->bots;
		known->uniques += row->uniques;
		return;
	}
	struct rollup_row *added = &rollup->rows[rollup->count];
	*added = *row;
	entry = &rollup->entries[rollup->count++];
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, rollup->by_key, added, sizeof(*added), hash, entry);
}

static void add_visit(struct rollup *rollup, const struct visit_event *event)
{
	int64_t at_us = event->occurred_at_us;
	struct rollup_row row = {
		.link_id = event->link_id,
		.owner_id = event->owner_id,
		.hour_us = at_us - at_us % CLOCK_US_PER_HOUR,
		.value = rollup->quarters[at_us % CLOCK_US_PER_DAY / US_PER_QUARTER],
		.dimension = ROLLUP_QUARTERS,
		.humans = !event->is_bot,
		.bots = event->is_bot,
		.uniques = event->is_unique
	};
	add(rollup, &row);
	for (row.dimension = ROLLUP_COUNTRY; row.dimension < ROLLUP_DIMENSIONS; row.dimension++) {
		row.value = value_of(event, row.dimension);
		if (row.value[0] != '\0')
			add(rollup, &row);
	}
}

static int by_list(const void *a, const void *b)
{
	const struct rollup_row *left = a;
	const struct rollup_row *right = b;
	if (left->link_id != right->link_id)
		return left->link_id < right->link_id ? -1 : 1;
	if (left->hour_us != right->hour_us)
		return left->hour_us < right->hour_us ? -1 : 1;
	return ((int)left->dimension > (int)right->dimension) -
	       ((int)left->dimension < (int)right->dimension);
}

static int by_visits(const void *a, const void *b)
{
	const struct rollup_row *left = a;
	const struct rollup_row *right = b;
	int64_t left_visits = (int64_t)left->humans + left->bots;
	int64_t right_visits = (int64_t)right->humans + right->bots;
	return (left_visits < right_visits) - (left_visits > right_visits);
}

/* Keeps the values of a list that count most. Returns the new number of rows. */
static size_t cut_list(struct rollup_row *rows, size_t count)
{
	if (count <= ROLLUP_LIST_VALUES_MAX)
		return count;
	qsort(rows, count, sizeof(*rows), by_visits);
	struct rollup_row *other = &rows[ROLLUP_LIST_VALUES_MAX];
	other->value = ROLLUP_LIST_OTHER;
	for (size_t i = ROLLUP_LIST_VALUES_MAX + 1; i < count; i++) {
		other->humans += rows[i].humans;
		other->bots += rows[i].bots;
		other->uniques += rows[i].uniques;
	}
	return ROLLUP_LIST_VALUES_MAX + 1;
}

static void cut_lists(struct rollup *rollup)
{
	size_t kept = 0;
	for (size_t first = 0, end = 0; first < rollup->count; first = end) {
		for (end = first + 1;
		     end < rollup->count && by_list(&rollup->rows[first], &rollup->rows[end]) == 0;
		     end++)
			;
		size_t count = cut_list(&rollup->rows[first], end - first);
		memmove(&rollup->rows[kept], &rollup->rows[first], count * sizeof(*rollup->rows));
		kept += count;
	}
	rollup->count = kept;
}

struct rollup_rows rollup_sum(struct rollup *rollup, const struct visit *visits, size_t count)
{
	rollup->count = 0;
	for (size_t i = 0; i < count; i++) {
		if (visits[i].disposition == VISIT_NEW)
			add_visit(rollup, &visits[i].event);
	}
	HASH_CLEAR(hh, rollup->by_key);
	qsort(rollup->rows, rollup->count, sizeof(*rollup->rows), by_list);
	cut_lists(rollup);
	return (struct rollup_rows){ .rows = rollup->rows, .count = rollup->count };
}
