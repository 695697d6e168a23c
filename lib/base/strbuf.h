/*
 * One thread at a time. Bytes that grow up to a ceiling given at birth. data is always followed by a NUL that len
 * does not count. An append that would pass the ceiling is refused whole and remembered: check strbuf_status once, at
 * the end.
 */
#ifndef WAYMARK_LIB_BASE_STRBUF_H
#define WAYMARK_LIB_BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

struct strbuf {
	char *data;   /* never NULL between init and clear */
	size_t len;   /* bytes in use */
	size_t room;  /* bytes allocated */
	size_t limit; /* the most that len may become */
	bool refused; /* an append was refused */
};

void strbuf_init(struct strbuf *b, size_t limit);
/* Frees the memory; b may be initialised again. */
void strbuf_clear(struct strbuf *b);
/* Empties b, keeps its memory, forgets a refusal. */
void strbuf_reset(struct strbuf *b);

/* The bytes that are allocated after an append of so many; room, if it would be refused. */
size_t strbuf_room_with(const struct strbuf *b, size_t more);

void strbuf_add(struct strbuf *b, const void *bytes, size_t len);
void strbuf_add_text(struct strbuf *b, const char *text);
void strbuf_add_char(struct strbuf *b, char c);
void strbuf_add_format(struct strbuf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void strbuf_add_vformat(struct strbuf *b, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

/* OK, or ERR_LIMIT when an append has been refused since init or reset. */
enum err strbuf_status(const struct strbuf *b) MUST_CHECK;

/* Moves the bytes out (release with free()); b is as after init. */
char *strbuf_take(struct strbuf *b, size_t *len);

#endif
