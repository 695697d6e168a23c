#include "services/analytics-consumer/facts/language.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define PRIMARY_LENGTH_MIN 2
#define PRIMARY_LENGTH_MAX 8

/* The weight in thousandths, or -1 when it is malformed. */
static int weight_of(const char *parameter, size_t len)
{
	static const int place[] = { 100, 10, 1 };
	if (len == 0 || (parameter[0] != '0' && parameter[0] != '1'))
		return -1;
	int weight = (parameter[0] - '0') * 1000;
	if (len > 5 || (len > 1 && parameter[1] != '.'))
		return -1;
	for (size_t i = 2; i < len; i++) {
		if (!isdigit((unsigned char)parameter[i]))
			return -1;
		weight += (parameter[i] - '0') * place[i - 2];
	}
	return weight <= 1000 ? weight : -1;
}

static void trim(const char **text, size_t *len)
{
	while (*len > 0 && (**text == ' ' || **text == '\t')) {
		(*text)++;
		(*len)--;
	}
	while (*len > 0 && ((*text)[*len - 1] == ' ' || (*text)[*len - 1] == '\t'))
		(*len)--;
}

/* Returns the weight of "de-AT;q=0.5" in thousandths and shortens *range to "de-AT". */
static int split(const char **range, size_t *len)
{
	trim(range, len);
	const char *semicolon = memchr(*range, ';', *len);
	if (!semicolon)
		return 1000;
	const char *parameter = semicolon + 1;
	size_t rest = *len - (size_t)(parameter - *range);
	*len = (size_t)(semicolon - *range);
	trim(range, len);
	trim(&parameter, &rest);
	if (rest < 2 || (parameter[0] != 'q' && parameter[0] != 'Q') || parameter[1] != '=')
		return -1;
	return weight_of(parameter + 2, rest - 2);
}

/* The length of the primary subtag, or 0 when there is none. */
static size_t primary_length(const char *range, size_t len)
{
	size_t n = 0;
	while (n < len && isalpha((unsigned char)range[n]))
		n++;
	bool ends = n == len || range[n] == '-';
	return ends && n >= PRIMARY_LENGTH_MIN && n <= PRIMARY_LENGTH_MAX ? n : 0;
}

void language_of(const char *accept_language, char *out, size_t size)
{
	int best = 0;
	out[0] = '\0';
	for (const char *at = accept_language;;) {
		size_t item = strcspn(at, ",");
		const char *range = at;
		size_t len = item;
		int weight = split(&range, &len);
		size_t primary = primary_length(range, len);
		if (weight > best && primary > 0 && primary < size) {
			best = weight;
			for (size_t i = 0; i < primary; i++)
				out[i] = (char)tolower((unsigned char)range[i]);
			out[primary] = '\0';
		}
		if (at[item] == '\0')
			return;
		at += item + 1;
	}
}
