#include "services/links-api/links/reserved_slugs.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/mem.h"
#include "lib/links/slug.h"

#define SEPARATORS ", \t\r\n"

typedef char word[SLUG_SIZE];

struct reserved_slugs {
	/* Sorted. */
	word *words;
	size_t count;
};

static int by_word(const void *a, const void *b)
{
	return strcasecmp(a, b);
}

enum err reserved_slugs_new(const char *list, struct reserved_slugs **out)
{
	struct reserved_slugs *reserve = mem_zero(sizeof(*reserve));
	/* Each word has at least one character and a separator. */
	reserve->words = mem_array(strlen(list) / 2 + 1, sizeof(word));
	for (list += strspn(list, SEPARATORS); *list; list += strspn(list, SEPARATORS)) {
		size_t len = strcspn(list, SEPARATORS);
		if (!slug_is_valid(list, len)) {
			reserved_slugs_free(reserve);
			return ERR_INVALID;
		}
		memcpy(reserve->words[reserve->count++], list, len);
		list += len;
	}
	qsort(reserve->words, reserve->count, sizeof(word), by_word);
	*out = reserve;
	return OK;
}

void reserved_slugs_free(struct reserved_slugs *reserve)
{
	if (!reserve)
		return;
	free(reserve->words);
	free(reserve);
}

bool reserved_slugs_contain(const struct reserved_slugs *reserve, const char *slug)
{
	return bsearch(slug, reserve->words, reserve->count, sizeof(word), by_word) != NULL;
}
