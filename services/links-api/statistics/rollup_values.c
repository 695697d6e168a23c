#include "services/links-api/statistics/rollup_values.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash_table.h"
#include "lib/base/mem.h"
#include "lib/clicks/rollup_list.h"

struct value {
	struct statistics_sums sums;
	UT_hash_handle hh;
	char text[];
};

struct rollup_values {
	struct value *by_text;
	/* Of all values, with a NUL each. */
	size_t text_bytes;
	/* No further value is kept. */
	bool is_named;
	/* Totals of roll-ups minus their lists. */
	struct statistics_sums unnamed;
};

static struct value *find(const struct rollup_values *values, const char *text, size_t len)
{
	struct value *value;
	HASH_FIND(hh, values->by_text, text, len, value);
	return value;
}

static struct value *find_or_insert(struct rollup_values *values, const char *text, size_t len)
{
	struct value *value = find(values, text, len);
	if (value)
		return value;
	value = mem_zero(sizeof(*value) + len + 1);
	memcpy(value->text, text, len);
	values->text_bytes += len + 1;
	HASH_ADD_KEYPTR(hh, values->by_text, value->text, len, value);
	return value;
}

static void drop(struct rollup_values *values, struct value *value)
{
	HASH_DEL(values->by_text, value);
	values->text_bytes -= value->hh.keylen + 1;
	free(value);
}

struct rollup_values *rollup_values_new(void)
{
	return mem_zero(sizeof(struct rollup_values));
}

void rollup_values_free(struct rollup_values *values)
{
	if (!values)
		return;
	while (values->by_text)
		drop(values, values->by_text);
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
	struct value *value;
};

/* The most visits first, then by bytes. */
static int compare(const void *a, const void *b)
{
	const struct ranked *first = a;
	const struct ranked *second = b;
	if (first->rank != second->rank)
		return first->rank > second->rank ? -1 : 1;
	return strcmp(first->value->text, second->value->text);
}

/* The caller frees the result. */
static struct ranked *rank(const struct rollup_values *values, enum visit_filter_traffic traffic)
{
	size_t count = 0;
	struct ranked *ranked = mem_array(HASH_COUNT(values->by_text), sizeof(*ranked));
	for (struct value *value = values->by_text; value; value = value->hh.next)
		ranked[count++] = (struct ranked){ rank_of(&value->sums, traffic), value };
	qsort(ranked, count, sizeof(*ranked), compare);
	return ranked;
}

/* --- adding --- */

static bool is_full(const struct rollup_values *values)
{
	return HASH_COUNT(values->by_text) >= ROLLUP_VALUES_MAX ||
	       values->text_bytes >= ROLLUP_VALUES_TEXT_MAX;
}

/* Keeps the values with the most visits. The others become "(other)". */
static enum err shrink(struct rollup_values *values)
{
	struct ranked *ranked = rank(values, VISIT_FILTER_ALL);
	size_t count = HASH_COUNT(values->by_text);
	struct value *other = find_or_insert(values, ROLLUP_LIST_OTHER, strlen(ROLLUP_LIST_OTHER));
	size_t kept_bytes = 0;
	enum err err = OK;
	for (size_t i = 0; i < count && err == OK; i++) {
		struct value *value = ranked[i].value;
		bool is_kept = i < ROLLUP_VALUES_MAX / 2 && kept_bytes < ROLLUP_VALUES_TEXT_MAX / 2;
		kept_bytes += value->hh.keylen + 1;
		if (is_kept || value == other)
			continue;
		err = statistics_sums_add(&other->sums, &value->sums);
		drop(values, value);
	}
	free(ranked);
	return err;
}

static enum err add_value(struct rollup_values *values, const char *text, size_t len,
                          const struct statistics_sums *sums)
{
	if (len >= VISIT_FILTER_VALUE_SIZE)
		return ERR_INVALID;
	struct value *value = find(values, text, len);
	if (!value && values->is_named)
		return OK;
	if (!value && is_full(values)) {
		enum err err = shrink(values);
		if (err != OK)
			return err;
	}
	if (!value)
		value = find_or_insert(values, text, len);
	return statistics_sums_add(&value->sums, sums);
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
	const struct value *found = find(values, value, strlen(value));
	return found ? found->sums : (struct statistics_sums){ 0 };
}

size_t rollup_values_top(const struct rollup_values *values, enum visit_filter_traffic traffic,
                         size_t limit, struct rollup_values_item *items)
{
	struct ranked *ranked = rank(values, traffic);
	size_t all = HASH_COUNT(values->by_text);
	size_t count = 0;
	for (; count < all && count < limit && ranked[count].rank > 0; count++)
		items[count] = (struct rollup_values_item){ ranked[count].value->text,
			                                    ranked[count].value->sums };
	free(ranked);
	return count;
}
