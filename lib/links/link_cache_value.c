#include "lib/links/link_cache_value.h"

#include <string.h>

/* Also in the scripts of link_cache.c. */
#define FORM "5"
#define NUMBER_TEXT LINK_CACHE_VALUE_NUMBER_TEXT
enum number {
	GENERATION,
	VERSION,
	ID,
	STATE,
	STATUS,
	EXPIRES,
	STARTS,
	FLAGS,
	SLUG_LEN,
	URL_LEN,
	ALIAS_OF_LEN,
	EXTRAS_LEN,
	NUMBERS = LINK_CACHE_VALUE_NUMBERS
};
enum flag { SLUG_CHOSEN = 1, SLUG_EXACT = 2, BLOCKED = 4 };

void link_cache_value_encode(const struct link_entry *entry, int64_t generation, struct strbuf *out)
{
	const int64_t number[NUMBERS] = {
		[GENERATION] = generation,
		[VERSION] = entry->version,
		[ID] = entry->id,
		[STATE] = (int64_t)entry->state,
		[STATUS] = entry->redirect_status,
		[EXPIRES] = entry->expires_at_us,
		[STARTS] = entry->starts_at_us,
		[FLAGS] = (entry->is_slug_chosen ? SLUG_CHOSEN : 0) |
		          (entry->is_slug_exact ? SLUG_EXACT : 0) |
		          (entry->is_blocked ? BLOCKED : 0),
		[SLUG_LEN] = (int64_t)strlen(entry->slug),
		[URL_LEN] = (int64_t)strlen(entry->original_url),
		[ALIAS_OF_LEN] = (int64_t)strlen(entry->alias_of),
		[EXTRAS_LEN] = entry->extras_len,
	};
	strbuf_add_text(out, FORM " ");
	for (size_t i = 0; i < NUMBERS; i++)
		strbuf_add_format(out, "%lld ", (long long)number[i]);
	strbuf_add_text(out, entry->slug);
	strbuf_add_text(out, entry->original_url);
	strbuf_add_text(out, entry->alias_of);
	strbuf_add_text(out, entry->expired_url);
	strbuf_add(out, entry->extras, entry->extras_len);
}

/* Parses digits and the following space; NULL if they are malformed. */
static const char *read_number(const char *at, const char *end, int64_t *out)
{
	const char *begin = at;
	uint64_t value = 0;
	for (; at < end && *at >= '0' && *at <= '9' && at - begin < NUMBER_TEXT; at++)
		value = value * 10 + (uint64_t)(*at - '0');
	if (at == begin || at == end || *at != ' ' || at - begin == NUMBER_TEXT ||
	    value > INT64_MAX)
		return NULL;
	*out = (int64_t)value;
	return at + 1;
}

static const char *read_text(const char *at, int64_t len, char *out)
{
	memcpy(out, at, (size_t)len);
	out[len] = '\0';
	return at + len;
}

bool link_cache_value_decode(const char *value, size_t len, int64_t *generation,
                             struct link_entry *out)
{
	const char *end = value + len;
	if (len < sizeof(FORM) || memcmp(value, FORM " ", sizeof(FORM)) != 0)
		return false;
	const char *at = value + sizeof(FORM);
	int64_t number[NUMBERS] = { 0 };
	for (size_t i = 0; i < NUMBERS; i++) {
		at = read_number(at, end, &number[i]);
		if (!at)
			return false;
	}
	if (number[VERSION] < 1 || number[ID] < 1 || number[STATE] < LINK_STATE_ACTIVE ||
	    number[STATE] > LINK_STATE_DELETED || !link_redirect_status_is_valid(number[STATUS]) ||
	    number[SLUG_LEN] < 1 || number[SLUG_LEN] > SLUG_LENGTH_MAX || number[URL_LEN] < 1 ||
	    number[URL_LEN] > LINK_URL_MAX || number[ALIAS_OF_LEN] > SLUG_LENGTH_MAX ||
	    number[EXTRAS_LEN] > LINK_EXTRAS_BYTES_MAX)
		return false;
	int64_t texts_len = end - at - number[EXTRAS_LEN];
	int64_t expired_url_len =
		texts_len - number[SLUG_LEN] - number[URL_LEN] - number[ALIAS_OF_LEN];
	if (expired_url_len < 0 || expired_url_len > LINK_URL_MAX ||
	    memchr(at, '\0', (size_t)texts_len))
		return false;
	*generation = number[GENERATION];
	out->version = number[VERSION];
	out->id = number[ID];
	out->state = (enum link_state)number[STATE];
	out->redirect_status = (uint16_t)number[STATUS];
	out->expires_at_us = number[EXPIRES];
	out->starts_at_us = number[STARTS];
	out->is_slug_chosen = number[FLAGS] & SLUG_CHOSEN;
	out->is_slug_exact = number[FLAGS] & SLUG_EXACT;
	out->is_blocked = number[FLAGS] & BLOCKED;
	out->lacks_extras = false;
	out->extras_len = (uint16_t)number[EXTRAS_LEN];
	at = read_text(at, number[SLUG_LEN], out->slug);
	at = read_text(at, number[URL_LEN], out->original_url);
	at = read_text(at, number[ALIAS_OF_LEN], out->alias_of);
	at = read_text(at, expired_url_len, out->expired_url);
	memcpy(out->extras, at, out->extras_len);
	return true;
}
