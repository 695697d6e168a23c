/*
 * Allocation that aborts when memory is exhausted, so callers never check for NULL. Bound every
 * size that comes from outside before allocating. Release everything with free().
 *
 * Safe from any thread.
 */
#ifndef WAYMARK_LIB_BASE_MEM_H
#define WAYMARK_LIB_BASE_MEM_H

#include <stddef.h>

/* size zero bytes. Size 0 returns a unique pointer. */
void *mem_zero(size_t size) __attribute__((malloc, returns_nonnull));

/* n * size zero bytes. Aborts on overflow. */
void *mem_array(size_t n, size_t size) __attribute__((malloc, returns_nonnull));

/* Resizes to n * size bytes. New bytes are uninitialised. Aborts on overflow. */
void *mem_resize(void *old, size_t n, size_t size) __attribute__((returns_nonnull));

/* Copies. mem_text_n adds a NUL. */
char *mem_text(const char *text) __attribute__((malloc, returns_nonnull));
char *mem_text_n(const char *text, size_t len) __attribute__((malloc, returns_nonnull));
void *mem_copy(const void *bytes, size_t len) __attribute__((malloc, returns_nonnull));

#endif
