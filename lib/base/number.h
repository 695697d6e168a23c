/* Parses and formats decimal numbers. Pure. */
#ifndef WAYMARK_LIB_BASE_NUMBER_H
#define WAYMARK_LIB_BASE_NUMBER_H

#include <stdint.h>

#include "lib/base/err.h"

/*
 * Parses an optional "-" and digits, nothing else. ERR_INVALID: text has another form. ERR_LIMIT:
 * the number is outside [min, max].
 */
enum err number_parse(const char *text, int64_t min, int64_t max, int64_t *out) MUST_CHECK;

#define NUMBER_TEXT_SIZE 32

/* The shortest of "%.15g" to "%.17g" that parses back to the same number: 0.1, 1e+300. */
void number_format(double number, char out[static NUMBER_TEXT_SIZE]);

#endif
