#include "lib/base/number.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum err number_parse(const char *text, int64_t min, int64_t max, int64_t *out)
{
	const char *digits = text + (*text == '-');
	if (*digits == '\0' || digits[strspn(digits, "0123456789")] != '\0')
		return ERR_INVALID;
	errno = 0;
	int64_t value = strtoll(text, NULL, 10);
	if (errno == ERANGE || value < min || value > max)
		return ERR_LIMIT;
	*out = value;
	return OK;
}

void number_format(double number, char out[static NUMBER_TEXT_SIZE])
{
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(out, NUMBER_TEXT_SIZE, "%.*g", digits, number);
		if (!isfinite(number) || strtod(out, NULL) == number)
			return;
	}
}
