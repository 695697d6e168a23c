/* UTF-8 as PostgreSQL and protobuf require it: well-formed (RFC 3629), without NUL. Pure. */
#ifndef WAYMARK_LIB_BASE_UTF8_H
#define WAYMARK_LIB_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* The length in bytes (1 to 4) of the first character; 0: malformed, cut off or NUL. */
size_t utf8_next(const char *text, size_t len);

/* True for C0, DEL and C1 (U+0080 to U+009F). text must begin with a well-formed character. */
bool utf8_is_control(const char *text);

bool utf8_is_valid(const char *text, size_t len);

/* The length of the prefix from ' ' to '~', which covers nearly all that visitors send. */
size_t utf8_printable_prefix(const char *text, size_t len);

/* The number of characters (code points) in valid text. */
size_t utf8_length(const char *text, size_t len);

/* The length of the longest prefix of valid text of at most max bytes that ends at a character. */
size_t utf8_prefix(const char *text, size_t len, size_t max);

/*
 * Sanitises untrusted text for events and logs. Copies at most size - 1 bytes of any input to out
 * and adds a NUL. Each malformed byte, NUL and control character becomes '?'. The copy ends at a
 * character. Returns the copied length.
 */
size_t utf8_copy_clean(const char *text, size_t len, char *out, size_t size);

#endif
