#include "lib/base/number.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum err number_parse(const char *text, int64_t min, int64_t max, int64_t *out)
{
	bool negative = *text == '-';
	if (negative)
		text++;
	if (*text == '\0')
		return ERR_INVALID;

	/* Accumulated as a negative number, because int64_t has one more of them. */
	int64_t value = 0;
	bool fits = true;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return ERR_INVALID;
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_sub_overflow(value, *text - '0', &value))
			fits = false;
	}
	if (!negative && value == INT64_MIN)
		fits = false;
	if (!fits)
		return ERR_LIMIT;
	if (!negative)
		value = -value;
	if (value < min || value > max)
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
