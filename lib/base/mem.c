#include "lib/base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void die(void)
{
	fputs("out of memory\n", stderr);
	abort();
}

void *mem_zero(size_t size)
{
	return mem_array(1, size);
}

void *mem_array(size_t n, size_t size)
{
	/* calloc(0) may return NULL, which would look like exhaustion. */
	void *p = n == 0 || size == 0 ? calloc(1, 1) : calloc(n, size);
	if (!p)
		die();
	return p;
}

void *mem_resize(void *old, size_t n, size_t size)
{
	/* realloc(p, 0) frees p on glibc. */
	void *p = n == 0 || size == 0 ? realloc(old, 1) : reallocarray(old, n, size);
	if (!p)
		die();
	return p;
}

char *mem_text(const char *text)
{
	return mem_text_n(text, strlen(text));
}

char *mem_text_n(const char *text, size_t len)
{
	if (len == SIZE_MAX)
		die();
	char *copy = mem_zero(len + 1);
	if (len > 0)
		memcpy(copy, text, len);
	return copy;
}

void *mem_copy(const void *bytes, size_t len)
{
	void *copy = mem_zero(len);
	if (len > 0)
		memcpy(copy, bytes, len);
	return copy;
}
