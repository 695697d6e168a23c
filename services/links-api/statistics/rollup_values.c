#include "services/links-api/statistics/rollup_values.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"
#include "lib/clicks/rollup_list.h"

/* Powers of two. At least half of the slots are empty. */
#define SLOTS_MIN 1024
#define EMPTY UINT32_MAX
#define TEXT_MIN 16384

struct value {
	struct statistics_sums sums;
	uint64_t hash;
	uint32_t at; /* in text, with a NUL */
	uint32_t len;
};

/* slots are an open hash table of indices into of. */
struct rollup_values {
	struct value *of;
	size_t count;
	char *text;
	size_t text_len, text_size;
	uint32_t *slots;
	size_t slot_count;
	uint64_t seed;
	bool is_named;                  /* no further value is kept */
	struct statistics_sums unnamed; /* totals of roll-ups minus their lists */
};

/* --- the hash table --- */

/* Visitors choose values, so the hash has a secret seed, lest all values fall into one slot. */
static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_of(const struct rollup_values *values, const char *value, size_t len)
{
	uint64_t hash = values->seed ^ len;
	while (len > 0) {
		uint64_t word = 0;
		size_t part = len < sizeof(word) ? len : sizeof(word);
		memcpy(&word, value, part);
		hash = mix(hash ^ word, values->seed | 1) + UINT64_C(0x9e3779b97f4a7c15);
		value += part;
		len -= part;
	}
	return mix(hash, UINT64_C(0xe7037ed1a0b428db));
}

/* The slot of the value, or the empty one where it belongs. */
static size_t find_slot(const struct rollup_values *values, const char *value, size_t len,
                        uint64_t hash)
{
	size_t slot = hash & (values->slot_count - 1);
	while (values->slots[slot] != EMPTY) {
		const struct value *found = &values->of[values->slots[slot]];
		if (found->hash == hash && found->len == len &&
		    memcmp(values->text + found->at, value, len) == 0)
			break;
		slot = (slot + 1) & (values->slot_count - 1);
	}
	return slot;
}

/* Makes slot_count slots for the values. */
static void make_slots(struct rollup_values *values, size_t slot_count)
{
	values->slot_count = slot_count;
	values->slots = mem_resize(values->slots, slot_count, sizeof(*values->slots));
	memset(values->slots, 0xff, slot_count * sizeof(*values->slots));
	values->of = mem_resize(values->of, slot_count / 2, sizeof(*values->of));
	for (size_t i = 0; i < values->count; i++) {
		const struct value *value = &values->of[i];
		values->slots[find_slot(values, values->text + value->at, value->len,
		                        value->hash)] = (uint32_t)i;
	}
}

static struct value *insert(struct rollup_values *values, const char *value, size_t len,
                            uint64_t hash)
{
	if (values->count == values->slot_count / 2)
		make_slots(values, values->slot_count * 2);
	if (!values->of)
		abort(); /* make_slots always makes it, which clang-tidy does not see */
	if (values->text_len + len + 1 > values->text_size) {
		values->text_size *= 2;
		values->text = mem_resize(values->text, values->text_size, 1);
	}
	values->slots[find_slot(values, value, len, hash)] = (uint32_t)values->count;
	struct value *added = &values->of[values->count++];
	*added = (struct value){ .hash = hash,
		                 .at = (uint32_t)values->text_len,
		                 .len = (uint32_t)len };
	memcpy(values->text + values->text_len, value, len);
	values->text[values->text_len + len] = '\0';
	values->text_len += len + 1;
	return added;
}

static struct value *find(const struct rollup_values *values, const char *value, size_t len,
                          uint64_t hash)
{
	uint32_t index = values->slots[find_slot(values, value, len, hash)];
	return index == EMPTY ? NULL : &values->of[index];
}

static struct value *find_or_insert(struct rollup_values *values, const char *value, size_t len)
{
	uint64_t hash = hash_of(values, value, len);
	struct value *found = find(values, value, len, hash);
	return found ? found : insert(values, value, len, hash);
}

struct rollup_values *rollup_values_new(void)
{
	struct rollup_values *values = mem_zero(sizeof(*values));
	entropy_fill(&values->seed, sizeof(values->seed));
	values->text_size = TEXT_MIN;
	values->text = mem_array(values->text_size, 1);
	make_slots(values, SLOTS_MIN);
	return values;
}

void rollup_values_free(struct rollup_values *values)
{
	if (!values)
		return;
	free(values->of);
	free(values->text);
	free(values->slots);
	free(values);
}

/* --- the order of values --- */

static int64_t rank_of(const struct statistics_sums *sums, enum visit_filter_traffic traffic)
{
	switch (traffic) {
	case VISIT_FILTER_HUMANS:
		return sums->humans;
	case VISIT_FILTER_BOTS:
		return sums->bots;
	case VISIT_FILTER_ALL:
		break;
	}
	int64_t all;
	return __builtin_add_overflow(sums->humans, sums->bots, &all) ? INT64_MAX : all;
}

struct ranked {
	int64_t rank;
	const char *value;
	const struct statistics_sums *sums;
};

/* The most visits first, then by bytes. */
static int compare(const void *a, const void *b)
{
	const struct ranked *first = a;
	const struct ranked *second = b;
	if (first->rank != second->rank)
		return first->rank > second->rank ? -1 : 1;
	return strcmp(first->value, second->value);
}

/* The caller frees the result. */
static struct ranked *rank(const struct rollup_values *values, enum visit_filter_traffic traffic)
{
	struct ranked *ranked = mem_array(values->count, sizeof(*ranked));
	for (size_t i = 0; i < values->count; i++)
		ranked[i] = (struct ranked){ rank_of(&values->of[i].sums, traffic),
			                     values->text + values->of[i].at, &values->of[i].sums };
	qsort(ranked, values->count, sizeof(*ranked), compare);
	return ranked;
}

/* --- adding --- */

static bool is_full(const struct rollup_values *values)
{
	return values->count >= ROLLUP_VALUES_MAX || values->text_len >= ROLLUP_VALUES_TEXT_MAX;
}

/* Keeps the values with the most visits. The others become "(other)". */
static enum err shrink(struct rollup_values *values)
{
	struct ranked *ranked = rank(values, VISIT_FILTER_ALL);
	struct value *former = values->of;
	char *former_text = values->text;
	size_t former_count = values->count;
	values->of = mem_array(values->slot_count / 2, sizeof(*values->of));
	values->count = 0;
	values->text_len = 0;
	values->text = mem_array(values->text_size, 1);
	make_slots(values, values->slot_count);
	enum err err = OK;
	for (size_t i = 0; i < former_count && err == OK; i++) {
		bool is_kept =
			i < ROLLUP_VALUES_MAX / 2 && values->text_len < ROLLUP_VALUES_TEXT_MAX / 2;
		const char *value = is_kept ? ranked[i].value : ROLLUP_VALUES_OTHER;
		err = statistics_sums_add(&find_or_insert(values, value, strlen(value))->sums,
		                          ranked[i].sums);
	}
	free(ranked);
	free(former);
	free(former_text);
	return err;
}

static enum err add_value(struct rollup_values *values, const char *value, size_t len,
                          const struct statistics_sums *sums)
{
	if (len >= VISIT_FILTER_VALUE_SIZE)
		return ERR_INVALID;
	uint64_t hash = hash_of(values, value, len);
	struct value *found = find(values, value, len, hash);
	if (!found && values->is_named)
		return OK;
	if (!found && is_full(values)) {
		enum err err = shrink(values);
		if (err != OK)
			return err;
	}
	if (!found)
		found = find_or_insert(values, value, len);
	return statistics_sums_add(&found->sums, sums);
}

void rollup_values_name(struct rollup_values *values, const char *value)
{
	values->is_named = true;
	find_or_insert(values, value, strlen(value));
}

enum err rollup_values_add_list(struct rollup_values *values, const struct statistics_sums *totals,
                                const char *list)
{
	enum err err = statistics_sums_add(&values->unnamed, totals);
	const char *rest = rollup_list_begin(list);
	struct rollup_list_entry entry;
	while (err == OK && (err = rollup_list_next(&rest, &entry)) == OK) {
		const struct statistics_sums *sums = &entry.sums;
		err = statistics_sums_add(
			&values->unnamed,
			&(struct statistics_sums){ -sums->humans, -sums->bots, -sums->uniques });
		if (err == OK)
			err = add_value(values, entry.value, entry.len, sums);
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err rollup_values_add(struct rollup_values *values, const char *value,
                           const struct statistics_sums *sums)
{
	return add_value(values, value, strlen(value), sums);
}

enum err rollup_values_finish(struct rollup_values *values)
{
	return add_value(values, "", 0, &values->unnamed);
}

/* --- results --- */

struct statistics_sums rollup_values_of(const struct rollup_values *values, const char *value)
{
	size_t len = strlen(value);
	const struct value *found = find(values, value, len, hash_of(values, value, len));
	return found ? found->sums : (struct statistics_sums){ 0 };
}

size_t rollup_values_top(const struct rollup_values *values, enum visit_filter_traffic traffic,
                         size_t limit, struct rollup_values_item *items)
{
	struct ranked *ranked = rank(values, traffic);
	size_t count = 0;
	while (count < values->count && count < limit && ranked[count].rank > 0) {
		items[count] =
			(struct rollup_values_item){ ranked[count].value, *ranked[count].sums };
		count++;
	}
	free(ranked);
	return count;
}
