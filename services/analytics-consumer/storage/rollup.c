#include "services/analytics-consumer/storage/rollup.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/entropy.h"
#include "lib/base/mem.h"

#define US_PER_QUARTER (CLOCK_US_PER_HOUR / 4)
#define EMPTY UINT32_MAX

struct slot {
	uint32_t row; /* or EMPTY */
	uint32_t hash;
};

/* An open-addressing hash table from keys to rows, at most half full. */
struct sums {
	size_t slots; /* a power of two */
	struct slot *table;
	struct rollup_row *rows;
	size_t count;
};

struct rollup {
	uint64_t seed; /* of the hash, because clients choose the values */
	struct sums quarters;
	struct sums hours;
	struct sums day_totals;
	struct sums day_values;
};

static void sums_init(struct sums *sums, size_t rows_max)
{
	sums->slots = 16;
	while (sums->slots < 2 * rows_max)
		sums->slots *= 2;
	sums->table = mem_array(sums->slots, sizeof(*sums->table));
	sums->rows = mem_array(rows_max, sizeof(*sums->rows));
}

static void sums_clear(struct sums *sums)
{
	free(sums->table);
	free(sums->rows);
}

static void sums_reset(struct sums *sums)
{
	memset(sums->table, 0xff, sums->slots * sizeof(*sums->table));
	sums->count = 0;
}

struct rollup *rollup_new(size_t visits_max)
{
	struct rollup *rollup = mem_zero(sizeof(*rollup));
	entropy_fill(&rollup->seed, sizeof(rollup->seed));
	sums_init(&rollup->quarters, visits_max);
	sums_init(&rollup->hours, visits_max * (ROLLUP_DIMENSIONS - 1));
	sums_init(&rollup->day_totals, visits_max);
	sums_init(&rollup->day_values, visits_max * (ROLLUP_DIMENSIONS - 1));
	return rollup;
}

void rollup_free(struct rollup *rollup)
{
	if (!rollup)
		return;
	sums_clear(&rollup->quarters);
	sums_clear(&rollup->hours);
	sums_clear(&rollup->day_totals);
	sums_clear(&rollup->day_values);
	free(rollup);
}

const char *rollup_dimension_name(enum rollup_dimension dimension)
{
	static const char *const names[ROLLUP_DIMENSIONS] = {
		[ROLLUP_TOTAL] = "total",
		[ROLLUP_COUNTRY] = "country",
		[ROLLUP_CITY] = "city",
		[ROLLUP_REGION] = "region",
		[ROLLUP_REFERRER] = "referrer",
		[ROLLUP_BROWSER] = "browser",
		[ROLLUP_OS] = "os",
		[ROLLUP_DEVICE] = "device",
		[ROLLUP_LANGUAGE] = "language",
		[ROLLUP_UTM_SOURCE] = "utm_source",
		[ROLLUP_UTM_MEDIUM] = "utm_medium",
		[ROLLUP_UTM_CAMPAIGN] = "utm_campaign",
	};
	return names[dimension];
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

/* Eight bytes at a time. The last word is padded with zeroes, which no value contains. */
static uint64_t mix_text(uint64_t hash, const char *text)
{
	size_t len = strlen(text);
	while (len > 0) {
		uint64_t word = 0;
		size_t part = len < sizeof(word) ? len : sizeof(word);
		memcpy(&word, text, part);
		hash = mix(hash, word);
		text += part;
		len -= part;
	}
	return hash;
}

static uint32_t hash_of(uint64_t seed, const struct rollup_row *key)
{
	uint64_t hash = mix(seed, (uint64_t)key->link_id);
	hash = mix(hash, (uint64_t)key->bucket_us + (uint64_t)key->dimension);
	hash = mix(mix_text(hash, key->value), seed);
	return (uint32_t)(hash >> 32);
}

static bool has_key(const struct rollup_row *row, const struct rollup_row *key)
{
	return row->link_id == key->link_id && row->bucket_us == key->bucket_us &&
	       row->dimension == key->dimension && strcmp(row->value, key->value) == 0;
}

/* Adds the counts of row to the row with the same key. */
static void add(struct sums *sums, uint64_t seed, const struct rollup_row *row)
{
	uint32_t hash = hash_of(seed, row);
	size_t at = hash & (sums->slots - 1);
	while (sums->table[at].row != EMPTY &&
	       (sums->table[at].hash != hash || !has_key(&sums->rows[sums->table[at].row], row)))
		at = (at + 1) & (sums->slots - 1);
	if (sums->table[at].row == EMPTY) {
		sums->table[at] = (struct slot){ .row = (uint32_t)sums->count, .hash = hash };
		sums->rows[sums->count++] = *row;
		return;
	}
	struct rollup_row *known = &sums->rows[sums->table[at].row];
	known->humans += row->humans;
	known->bots += row->bots;
	known->uniques += row->uniques;
}

static int64_t bucket_start(int64_t at_us, int64_t length_us)
{
	return at_us - at_us % length_us;
}

static void add_visit(struct rollup *rollup, const struct visit_event *event)
{
	struct rollup_row row = { .link_id = event->link_id,
		                  .bucket_us = bucket_start(event->occurred_at_us, US_PER_QUARTER),
		                  .value = "",
		                  .dimension = ROLLUP_TOTAL,
		                  .humans = !event->is_bot,
		                  .bots = event->is_bot,
		                  .uniques = event->is_unique };
	add(&rollup->quarters, rollup->seed, &row);
	row.bucket_us = bucket_start(event->occurred_at_us, CLOCK_US_PER_HOUR);
	for (row.dimension = ROLLUP_COUNTRY; row.dimension < ROLLUP_DIMENSIONS; row.dimension++) {
		row.value = value_of(event, row.dimension);
		if (row.value[0] != '\0')
			add(&rollup->hours, rollup->seed, &row);
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

static struct rollup_rows sorted(struct sums *sums)
{
	qsort(sums->rows, sums->count, sizeof(*sums->rows), by_key);
	return (struct rollup_rows){ .rows = sums->rows, .count = sums->count };
}

struct rollup_sums rollup_sum(struct rollup *rollup, const struct visit *visits, size_t count)
{
	sums_reset(&rollup->quarters);
	sums_reset(&rollup->hours);
	for (size_t i = 0; i < count; i++) {
		if (visits[i].disposition == VISIT_NEW)
			add_visit(rollup, &visits[i].event);
	}
	return (struct rollup_sums){ .quarters = sorted(&rollup->quarters),
		                     .hours = sorted(&rollup->hours) };
}

static struct rollup_rows sum_by_day(struct sums *days, uint64_t seed, const struct sums *buckets,
                                     int32_t last_day)
{
	bool is_reset =
		false; /* nearly always no row qualifies, and then the table is not touched */
	days->count = 0;
	for (size_t i = 0; i < buckets->count; i++) {
		struct rollup_row row = buckets->rows[i];
		if (clock_utc_day(row.bucket_us) > last_day)
			continue;
		if (!is_reset)
			sums_reset(days);
		is_reset = true;
		row.bucket_us = bucket_start(row.bucket_us, CLOCK_US_PER_DAY);
		add(days, seed, &row);
	}
	return sorted(days);
}

struct rollup_days rollup_sum_days(struct rollup *rollup, int32_t last_day)
{
	return (struct rollup_days){
		.totals =
			sum_by_day(&rollup->day_totals, rollup->seed, &rollup->quarters, last_day),
		.values = sum_by_day(&rollup->day_values, rollup->seed, &rollup->hours, last_day),
	};
}
