#include "lib/base/strbuf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"

#define INITIAL_CAPACITY 64

void strbuf_init(struct strbuf *b, size_t limit)
{
	*b = (struct strbuf){ .limit = limit < SIZE_MAX / 2 ? limit : SIZE_MAX / 2 };
	b->capacity = b->limit < INITIAL_CAPACITY ? b->limit + 1 : INITIAL_CAPACITY;
	b->data = mem_zero(b->capacity);
}

void strbuf_clear(struct strbuf *b)
{
	free(b->data);
	*b = (struct strbuf){ 0 };
}

void strbuf_reset(struct strbuf *b)
{
	b->len = 0;
	b->data[0] = '\0';
	b->has_overflowed = false;
}

size_t strbuf_capacity_after(const struct strbuf *b, size_t more)
{
	if (more > b->limit - b->len)
		return b->capacity;
	size_t needed = b->len + more + 1;
	if (needed <= b->capacity)
		return b->capacity;
	size_t capacity = b->capacity * 2;
	if (capacity < needed)
		capacity = needed;
	return capacity > b->limit + 1 ? b->limit + 1 : capacity;
}

/* Ensures space for more bytes and the NUL. False if that would pass the limit. */
static bool reserve(struct strbuf *b, size_t more)
{
	if (more > b->limit - b->len) {
		b->has_overflowed = true;
		return false;
	}
	size_t capacity = strbuf_capacity_after(b, more);
	if (capacity > b->capacity)
		b->data = mem_resize(b->data, capacity, 1);
	b->capacity = capacity;
	return true;
}

void strbuf_add(struct strbuf *b, const void *bytes, size_t len)
{
	if (!reserve(b, len))
		return;
	if (len > 0)
		memcpy(b->data + b->len, bytes, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void strbuf_add_text(struct strbuf *b, const char *text)
{
	strbuf_add(b, text, strlen(text));
}

void strbuf_add_char(struct strbuf *b, char c)
{
	strbuf_add(b, &c, 1);
}

void strbuf_add_format(struct strbuf *b, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	strbuf_add_vformat(b, format, args);
	va_end(args);
}

void strbuf_add_vformat(struct strbuf *b, const char *format, va_list args)
{
	va_list again;
	va_copy(again, args);
	size_t room = b->capacity - b->len;
	int len = vsnprintf(b->data + b->len, room, format, args);
	if (len < 0 || !reserve(b, (size_t)len)) {
		b->has_overflowed = true;
		b->data[b->len] = '\0';
	} else {
		if ((size_t)len >= room)
			vsnprintf(b->data + b->len, (size_t)len + 1, format, again);
		b->len += (size_t)len;
	}
	va_end(again);
}

enum err strbuf_status(const struct strbuf *b)
{
	return b->has_overflowed ? ERR_LIMIT : OK;
}

char *strbuf_take(struct strbuf *b, size_t *len)
{
	char *data = b->data;
	if (len)
		*len = b->len;
	strbuf_init(b, b->limit);
	return data;
}
