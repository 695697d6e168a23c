/*
 * Pure. Percent-decoding (RFC 3986, 2.1), one byte at a time: callers differ in which bytes they
 * accept and in what else they decode.
 *
 *   for (size_t at = 0; at < len;) {
 *           int c = percent_decode_next(text, len, &at);
 *           if (c < 0)
 *                   return ERR_INVALID;
 *           ...
 *   }
 */
#ifndef WAYMARK_LIB_BASE_PERCENT_H
#define WAYMARK_LIB_BASE_PERCENT_H

#include <stddef.h>

/*
 * The byte at *at, decoded if it is an escape ("%2f"); moves *at past it. *at must be less than
 * len. -1: a malformed escape.
 */
int percent_decode_next(const char *text, size_t len, size_t *at);

#endif
