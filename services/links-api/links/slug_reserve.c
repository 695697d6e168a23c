#include "services/links-api/links/slug_reserve.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/mem.h"
#include "lib/links/slug.h"

#define SEPARATORS ", \t\r\n"

typedef char word[SLUG_SIZE];

struct slug_reserve {
	word *words; /* sorted */
	size_t count;
};

static int by_word(const void *a, const void *b)
{
	return strcasecmp(a, b);
}

enum err slug_reserve_new(const char *list, struct slug_reserve **out)
{
	struct slug_reserve *reserve = mem_zero(sizeof(*reserve));
	/* Each word has at least one character and a separator. */
	reserve->words = mem_array(strlen(list) / 2 + 1, sizeof(word));
	for (list += strspn(list, SEPARATORS); *list; list += strspn(list, SEPARATORS)) {
		size_t len = strcspn(list, SEPARATORS);
		if (!slug_is_valid(list, len)) {
			slug_reserve_free(reserve);
			return ERR_INVALID;
		}
		memcpy(reserve->words[reserve->count++], list, len);
		list += len;
	}
	qsort(reserve->words, reserve->count, sizeof(word), by_word);
	*out = reserve;
	return OK;
}

void slug_reserve_free(struct slug_reserve *reserve)
{
	if (!reserve)
		return;
	free(reserve->words);
	free(reserve);
}

bool slug_reserve_has(const struct slug_reserve *reserve, const char *slug)
{
	return bsearch(slug, reserve->words, reserve->count, sizeof(word), by_word) != NULL;
}
