#include "lib/clicks/rollup_list.h"

#include <stdbool.h>

#define ENTRY_END '\x1e'
#define FIELD_END '\x1f'
/* More visits than there can be. Such counts fit into an int64_t. */
#define DIGITS_MAX 18

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
