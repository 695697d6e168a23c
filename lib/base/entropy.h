/*
 * Safe from any thread. Random bytes from getrandom(2), and what is made of them. Aborts if the kernel has none.
 */
#ifndef WAYMARK_LIB_BASE_ENTROPY_H
#define WAYMARK_LIB_BASE_ENTROPY_H

#include <stddef.h>
#include <stdint.h>

#define ENTROPY_UUID_SIZE 16
#define ENTROPY_UUID_TEXT_SIZE 37

void entropy_fill(void *out, size_t len);

/* A number below n (n > 0) without modulo bias. */
uint32_t entropy_below(uint32_t n);

/* len characters drawn evenly from alphabet, and a NUL: out has len + 1 bytes. */
void entropy_text(const char *alphabet, char *out, size_t len);

/*
 * One thread at a time: bytes that were got ahead, for whoever needs a few of them thousands of times a second, where a
 * system call each would be felt. Starts as { 0 }.
 */
struct entropy_pool {
	uint8_t bytes[1024];
	size_t left;
};

/* RFC 9562: version 7 of the time now_us, version 4. */
void entropy_uuid7(int64_t now_us, uint8_t out[static ENTROPY_UUID_SIZE]);
void entropy_pool_uuid7(struct entropy_pool *pool, int64_t now_us, uint8_t out[static ENTROPY_UUID_SIZE]);
void entropy_uuid4(uint8_t out[static ENTROPY_UUID_SIZE]);

/* "0190f0c6-7c3e-7000-8000-000000000000". */
void entropy_uuid_format(const uint8_t uuid[static ENTROPY_UUID_SIZE], char out[static ENTROPY_UUID_TEXT_SIZE]);

#endif
