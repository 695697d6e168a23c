#include "services/links-api/link_search.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/utf8.h"

#define TRIGRAM_CHARS 3

/* As pg_trgm divides, but for characters beyond ASCII that are no letters: a word that is too long finds the same. */
static bool is_of_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (uint8_t)c >= 0x80;
}

struct word {
	const char *text;
	size_t len;
	bool has_digit;
};

static struct word next_word(const char *at)
{
	struct word word = { .text = at };
	while (*word.text && !is_of_word(*word.text))
		word.text++;
	for (const char *c = word.text; is_of_word(*c); c++) {
		word.len++;
		word.has_digit = word.has_digit || (*c >= '0' && *c <= '9');
	}
	return word;
}

/* A year of these days stands in very many links. */
static bool is_year(const struct word *word)
{
	return word->len == 4 && strspn(word->text, "0123456789") == 4 &&
	       (memcmp(word->text, "19", 2) == 0 || memcmp(word->text, "20", 2) == 0);
}

static bool is_rare(const struct word *word)
{
	return word->has_digit && utf8_length(word->text, word->len) >= TRIGRAM_CHARS && !is_year(word);
}

const char *link_search_word(const char *q, size_t *len)
{
	struct word best = { 0 };
	for (struct word word = next_word(q); word.len > 0; word = next_word(word.text + word.len)) {
		if (is_rare(&word) && word.len > best.len)
			best = word;
	}
	*len = best.len > 0 ? best.len : strlen(q);
	return best.len > 0 ? best.text : q;
}
