#include "services/links-api/lists/sql_texts.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"

/* Takes text. */
static const char *keep(struct sql_texts *texts, char *text)
{
	if (texts->count == PG_PARAMS_MAX) {
		free(text);
		return NULL;
	}
	return texts->text[texts->count++] = text;
}

#define LIKE_SPECIAL "%_\\"

/* Puts a backslash before each special character. Returns the end of the copy. */
static char *copy_escaped(char *to, const char *from, size_t len, const char *special)
{
	for (size_t i = 0; i < len; i++) {
		if (strchr(special, from[i]))
			*to++ = '\\';
		*to++ = from[i];
	}
	return to;
}

const char *sql_texts_like_containing(struct sql_texts *texts, const char *text, size_t len)
{
	char *pattern = mem_zero(2 * len + sizeof("%%"));
	char *end = pattern;
	*end++ = '%';
	end = copy_escaped(end, text, len, LIKE_SPECIAL);
	*end = '%';
	return keep(texts, pattern);
}

const char *sql_texts_like_fragments(struct sql_texts *texts, const char *text, const bool *is_used)
{
	char *pattern = mem_zero(3 * strlen(text) + sizeof("%%"));
	char *end = pattern;
	*end++ = '%';
	for (size_t i = 0; text[i] != '\0'; i++) {
		if (!is_used[i])
			continue;
		end = copy_escaped(end, text + i, 1, LIKE_SPECIAL);
		if (!is_used[i + 1] || text[i + 1] == '\0')
			*end++ = '%';
	}
	*end = '\0';
	return keep(texts, pattern);
}

const char *sql_texts_array(struct sql_texts *texts, const char *const *items, size_t count)
{
	size_t size = sizeof("{}");
	for (size_t i = 0; i < count; i++)
		size += 2 * strlen(items[i]) + sizeof("\"\",");
	char *array = mem_zero(size);
	char *end = array;
	*end++ = '{';
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			*end++ = ',';
		*end++ = '"';
		end = copy_escaped(end, items[i], strlen(items[i]), "\"\\");
		*end++ = '"';
	}
	*end = '}';
	return keep(texts, array);
}

void sql_texts_clear(struct sql_texts *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		free(texts->text[i]);
	texts->count = 0;
}
