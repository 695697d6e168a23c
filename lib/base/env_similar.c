#include "lib/base/env_similar.h"

#include <ctype.h>
#include <string.h>

#define LETTERS_MAX 64
#define FILE_SUFFIX "_FILE"

/* A name without underscores and in upper case; PROXIES becomes PROXY. */
struct letters {
	char text[LETTERS_MAX];
	size_t len; /* LETTERS_MAX: longer than any variable */
};

static struct letters letters_of(const char *name, size_t len)
{
	struct letters letters = { .len = 0 };
	for (size_t i = 0; i < len && letters.len < LETTERS_MAX; i++)
		if (name[i] != '_')
			letters.text[letters.len++] = (char)toupper((unsigned char)name[i]);
	bool is_plural = letters.len > 3 && memcmp(letters.text + letters.len - 3, "IES", 3) == 0;
	if (is_plural) {
		letters.len -= 2;
		letters.text[letters.len - 1] = 'Y';
	}
	return letters;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The distance of Damerau and Levenshtein in which no letter is changed twice. */
static size_t distance(const struct letters *a, const struct letters *b)
{
	size_t rows[LETTERS_MAX + 1][LETTERS_MAX + 1];
	for (size_t i = 0; i <= a->len; i++)
		rows[i][0] = i;
	for (size_t j = 0; j <= b->len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a->len; i++) {
		for (size_t j = 1; j <= b->len; j++) {
			size_t wrong = a->text[i - 1] == b->text[j - 1] ? 0 : 1;
			size_t found = least(rows[i - 1][j] + 1, rows[i][j - 1] + 1);
			found = least(found, rows[i - 1][j - 1] + wrong);
			bool is_swapped = i > 1 && j > 1 && a->text[i - 1] == b->text[j - 2] &&
			                  a->text[i - 2] == b->text[j - 1];
			if (is_swapped)
				found = least(found, rows[i - 2][j - 2] + 1);
			rows[i][j] = found;
		}
	}
	return rows[a->len][b->len];
}

static size_t allowed_distance(const struct letters *letters)
{
	return letters->len < 6 ? 0 : letters->len < 12 ? 1 : 2;
}

static const char *find_exact(const struct env_var *vars, size_t count, const char *name,
                              size_t len)
{
	for (size_t i = 0; i < count; i++)
		if (vars[i].type != ENV_TYPE_GROUP && strlen(vars[i].name) == len &&
		    memcmp(vars[i].name, name, len) == 0)
			return vars[i].name;
	return NULL;
}

static const char *find_nearest(const struct env_var *vars, size_t count, const char *name,
                                size_t len)
{
	struct letters wanted = letters_of(name, len);
	if (wanted.len == LETTERS_MAX)
		return NULL;
	const char *nearest = NULL;
	size_t least_distance = SIZE_MAX;
	for (size_t i = 0; i < count; i++) {
		if (vars[i].type == ENV_TYPE_GROUP)
			continue;
		struct letters letters = letters_of(vars[i].name, strlen(vars[i].name));
		size_t found = distance(&wanted, &letters);
		if (found <= allowed_distance(&letters) && found < least_distance) {
			nearest = vars[i].name;
			least_distance = found;
		}
	}
	return nearest;
}

const char *env_similar(const struct env_var *vars, size_t count, const char *name)
{
	size_t len = strlen(name), suffix_len = strlen(FILE_SUFFIX);
	bool has_suffix = len > suffix_len && strcmp(name + len - suffix_len, FILE_SUFFIX) == 0;
	size_t base_len = has_suffix ? len - suffix_len : len;
	if (find_exact(vars, count, name, len) || find_exact(vars, count, name, base_len))
		return NULL;
	const char *nearest = find_nearest(vars, count, name, len);
	return nearest || !has_suffix ? nearest : find_nearest(vars, count, name, base_len);
}
