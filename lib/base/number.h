/*
 * Pure. Decimal numbers from text and to text.
 */
#ifndef WAYMARK_LIB_BASE_NUMBER_H
#define WAYMARK_LIB_BASE_NUMBER_H

#include <stdint.h>

#include "lib/base/err.h"

/*
 * Reads an optional "-" and digits, nothing else. ERR_INVALID when text is not of that form; ERR_LIMIT when the
 * number is outside [min, max].
 */
enum err number_parse(const char *text, int64_t min, int64_t max, int64_t *out) MUST_CHECK;

#define NUMBER_TEXT_SIZE 32

/* The shortest of "%.15g" to "%.17g" that reads back as the same number: 0.1, 1e+300. */
void number_format(double number, char out[static NUMBER_TEXT_SIZE]);

#endif
