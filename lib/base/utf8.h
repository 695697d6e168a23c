/*
 * Pure. UTF-8 as PostgreSQL and protobuf want it: well-formed (RFC 3629), without NUL.
 */
#ifndef WAYMARK_LIB_BASE_UTF8_H
#define WAYMARK_LIB_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* The length in bytes (1 to 4) of the character that text begins with; 0 when it is malformed, cut off or NUL. */
size_t utf8_next(const char *text, size_t len);

/* True for C0, DEL and C1 (U+0080 to U+009F); text begins with a well-formed character. */
bool utf8_is_control(const char *text);

bool utf8_is_valid(const char *text, size_t len);

/* The number of characters (code points) of valid text. */
size_t utf8_length(const char *text, size_t len);

/* The longest prefix of at most max bytes that does not cut a character of valid text. */
size_t utf8_prefix(const char *text, size_t len, size_t max);

/*
 * Copies at most size - 1 bytes of any input to out, with each malformed byte, NUL and control character as '?', cut at
 * a character, NUL added. Gives the copied length. For text of strangers that goes into events and logs.
 */
size_t utf8_copy_clean(const char *text, size_t len, char *out, size_t size);

#endif
