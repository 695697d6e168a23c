/*
 * A growing byte buffer with a limit. data is always followed by a NUL that len does not count. An
 * append that would pass the limit adds nothing and sets a flag, so it is enough to check
 * strbuf_status once, at the end:
 *
 *   struct strbuf b;
 *   strbuf_init(&b, 4096);
 *   strbuf_add_format(&b, "%s=%d", name, value);
 *   if (strbuf_status(&b) == OK)
 *           send(b.data, b.len);
 *   strbuf_clear(&b);
 *
 * One thread at a time.
 */
#ifndef WAYMARK_LIB_BASE_STRBUF_H
#define WAYMARK_LIB_BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

struct strbuf {
	/* Never NULL between init and clear. */
	char *data;
	/* Bytes in use. */
	size_t len;
	/* Bytes allocated. */
	size_t capacity;
	/* Maximum of len. */
	size_t limit;
	/* An append did not fit. */
	bool has_overflowed;
};

void strbuf_init(struct strbuf *b, size_t limit);
/* Frees the memory. b may be initialised again. */
void strbuf_clear(struct strbuf *b);
/* Empties b and clears the overflow flag, but keeps its memory. */
void strbuf_reset(struct strbuf *b);

/* How many bytes would be allocated after an append of more bytes; unchanged if it does not fit. */
size_t strbuf_capacity_after(const struct strbuf *b, size_t more);

void strbuf_add(struct strbuf *b, const void *bytes, size_t len);
void strbuf_add_text(struct strbuf *b, const char *text);
void strbuf_add_char(struct strbuf *b, char c);
void strbuf_add_format(struct strbuf *b, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void strbuf_add_vformat(struct strbuf *b, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

/* OK, or ERR_LIMIT if an append did not fit since init or reset. */
enum err strbuf_status(const struct strbuf *b) MUST_CHECK;

/* Moves the bytes out; release them with free(). b is as after init. */
char *strbuf_take(struct strbuf *b, size_t *len);

#endif
