#include "services/analytics-consumer/facts/words.h"

#include <stddef.h>
#include <string.h>

bool words_any(const char *text, const char *const *words)
{
	for (size_t i = 0; words[i]; i++) {
		if (strstr(text, words[i]))
			return true;
	}
	return false;
}

bool words_begin(const char *text, const char *const *words)
{
	for (size_t i = 0; words[i]; i++) {
		if (strncmp(text, words[i], strlen(words[i])) == 0)
			return true;
	}
	return false;
}
