#include "lib/clicks/rollup_list.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"

#define ENTRY_END '\x1e'
#define FIELD_END '\x1f'
/* More visits than there can be. Such counts fit into an int64_t. */
#define DIGITS_MAX 18
#define COUNT_MAX INT64_C(999999999999999999)

/* NULL: no entry is left. A list that ends with a separator has one more, which is broken. */
const char *rollup_list_begin(const char *list)
{
	return *list == '\0' ? NULL : list;
}

/* Reads "-12" and the end of the field. Returns the next field; NULL: it has another form. */
static const char *read_count(const char *text, int64_t *out)
{
	bool is_negative = *text == '-';
	const char *digits = text + is_negative;
	const char *at = digits;
	int64_t count = 0;
	for (; *at >= '0' && *at <= '9' && at - digits < DIGITS_MAX; at++)
		count = count * 10 + (*at - '0');
	if (at == digits || *at != FIELD_END)
		return NULL;
	*out = is_negative ? -count : count;
	return at + 1;
}

enum err rollup_list_next(const char **rest, struct rollup_list_entry *entry)
{
	const char *at = *rest;
	if (!at)
		return ERR_NOT_FOUND;
	at = read_count(at, &entry->sums.humans);
	if (at)
		at = read_count(at, &entry->sums.bots);
	if (at)
		at = read_count(at, &entry->sums.uniques);
	if (!at)
		return ERR_INVALID;
	entry->value = at;
	while (*at != ENTRY_END && *at != FIELD_END && *at != '\0')
		at++;
	if (*at == FIELD_END)
		return ERR_INVALID;
	entry->len = (size_t)(at - entry->value);
	*rest = *at == '\0' ? NULL : at + 1;
	return OK;
}

static void append_count(struct strbuf *list, int64_t count)
{
	char text[DIGITS_MAX + 4];
	char *at = text + sizeof(text);
	uint64_t left = count < 0 ? -(uint64_t)count : (uint64_t)count;
	*--at = FIELD_END;
	do
		*--at = (char)('0' + left % 10);
	while (left /= 10);
	if (count < 0)
		*--at = '-';
	strbuf_add(list, at, (size_t)(text + sizeof(text) - at));
}

void rollup_list_append(struct strbuf *list, const struct rollup_list_entry *entry)
{
	if (list->len > 0)
		strbuf_add_char(list, ENTRY_END);
	append_count(list, entry->sums.humans);
	append_count(list, entry->sums.bots);
	append_count(list, entry->sums.uniques);
	strbuf_add(list, entry->value, entry->len);
}

/* --- sums --- */

enum err rollup_list_sum_add(struct rollup_list_sum *sum, const char *list)
{
	const char *rest = rollup_list_begin(list);
	enum err err = OK;
	while (err == OK) {
		if (sum->count == sum->capacity) {
			sum->capacity = sum->capacity > 0 ? 2 * sum->capacity : 64;
			sum->entries =
				mem_resize(sum->entries, sum->capacity, sizeof(*sum->entries));
		}
		err = rollup_list_next(&rest, &sum->entries[sum->count]);
		sum->count += err == OK;
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

static int compare_values(const struct rollup_list_entry *a, const struct rollup_list_entry *b)
{
	int order = memcmp(a->value, b->value, a->len < b->len ? a->len : b->len);
	return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

static int by_value(const void *a, const void *b)
{
	return compare_values(a, b);
}

/* The most visits first, then by bytes. */
static int by_visits(const void *a, const void *b)
{
	const struct rollup_list_entry *first = a;
	const struct rollup_list_entry *second = b;
	uint64_t of_first = (uint64_t)first->sums.humans + (uint64_t)first->sums.bots;
	uint64_t of_second = (uint64_t)second->sums.humans + (uint64_t)second->sums.bots;
	return of_first != of_second ? (of_first < of_second) - (of_first > of_second)
	                             : compare_values(first, second);
}

/* Brings the entries of each value together, and those that are not kept as named to "(other)". */
static enum err merge(struct rollup_list_sum *sum, struct rollup_list_entry *other)
{
	size_t kept = 0;
	enum err err = OK;
	qsort(sum->entries, sum->count, sizeof(*sum->entries), by_value);
	for (size_t first = 0, next = 0; err == OK && first < sum->count; first = next) {
		struct rollup_list_entry *entry = &sum->entries[first];
		for (next = first + 1; err == OK && next < sum->count &&
		                       compare_values(entry, &sum->entries[next]) == 0;
		     next++)
			err = statistics_sums_add(&entry->sums, &sum->entries[next].sums);
		const struct statistics_sums *sums = &entry->sums;
		bool is_overdrawn = sums->humans < 0 || sums->bots < 0 || sums->uniques < 0;
		bool is_kept =
			sum->is_exact || (!is_overdrawn && compare_values(entry, other) != 0);
		if (err == OK && !is_kept)
			err = statistics_sums_add(&other->sums, sums);
		else if (sums->humans != 0 || sums->bots != 0 || sums->uniques != 0)
			sum->entries[kept++] = *entry;
	}
	sum->count = kept;
	return err;
}

static enum err cut(struct rollup_list_sum *sum, struct rollup_list_entry *other)
{
	enum err err = OK;
	if (sum->count <= ROLLUP_LIST_VALUES_MAX)
		return OK;
	qsort(sum->entries, sum->count, sizeof(*sum->entries), by_visits);
	for (size_t i = ROLLUP_LIST_VALUES_MAX; err == OK && i < sum->count; i++)
		err = statistics_sums_add(&other->sums, &sum->entries[i].sums);
	sum->count = ROLLUP_LIST_VALUES_MAX;
	qsort(sum->entries, sum->count, sizeof(*sum->entries), by_value);
	return err;
}

static enum err write_entry(struct rollup_list_sum *sum, const struct rollup_list_entry *entry,
                            struct strbuf *out)
{
	const int64_t counts[] = { entry->sums.humans, entry->sums.bots, entry->sums.uniques };
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		if (counts[i] > COUNT_MAX || counts[i] < -COUNT_MAX)
			return ERR_INVALID;
	rollup_list_append(out, entry);
	return statistics_sums_add(&sum->totals, &entry->sums);
}

enum err rollup_list_sum_write(struct rollup_list_sum *sum, struct strbuf *out, size_t *entries)
{
	struct rollup_list_entry other = { .value = ROLLUP_LIST_OTHER,
		                           .len = strlen(ROLLUP_LIST_OTHER) };
	sum->totals = (struct statistics_sums){ 0 };
	strbuf_reset(out);
	enum err err = merge(sum, &other);
	if (err == OK)
		err = cut(sum, &other);
	size_t written = 0;
	for (; err == OK && written < sum->count; written++)
		err = write_entry(sum, &sum->entries[written], out);
	sum->count = 0;
	if (err == OK &&
	    (other.sums.humans != 0 || other.sums.bots != 0 || other.sums.uniques != 0)) {
		err = write_entry(sum, &other, out);
		written++;
	}
	if (err == OK)
		*entries = written;
	return err;
}

void rollup_list_sum_clear(struct rollup_list_sum *sum)
{
	free(sum->entries);
	*sum = (struct rollup_list_sum){ 0 };
}
