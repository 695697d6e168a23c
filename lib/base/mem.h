/*
 * Safe from any thread. Memory that aborts when there is none: nobody checks for NULL. Bound every size that comes
 * from outside before you ask. Everything is released with free().
 */
#ifndef WAYMARK_LIB_BASE_MEM_H
#define WAYMARK_LIB_BASE_MEM_H

#include <stddef.h>

/* size bytes of zeroes; size 0 gives a unique pointer. */
void *mem_zero(size_t size) __attribute__((malloc, returns_nonnull));

/* n * size bytes of zeroes; aborts on overflow. */
void *mem_array(size_t n, size_t size) __attribute__((malloc, returns_nonnull));

/* Resizes to n * size bytes; new bytes are not set; aborts on overflow. */
void *mem_resize(void *old, size_t n, size_t size) __attribute__((returns_nonnull));

/* Copies. mem_text_n adds the NUL. */
char *mem_text(const char *text) __attribute__((malloc, returns_nonnull));
char *mem_text_n(const char *text, size_t len) __attribute__((malloc, returns_nonnull));
void *mem_copy(const void *bytes, size_t len) __attribute__((malloc, returns_nonnull));

#endif
