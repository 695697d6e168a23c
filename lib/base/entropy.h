/*
 * Random bytes from getrandom(2), and numbers, texts and UUIDs made of them. Aborts if the kernel
 * has no random bytes.
 *
 * Safe from any thread.
 */
#ifndef WAYMARK_LIB_BASE_ENTROPY_H
#define WAYMARK_LIB_BASE_ENTROPY_H

#include <stddef.h>
#include <stdint.h>

#define ENTROPY_UUID_SIZE 16
#define ENTROPY_UUID_TEXT_SIZE 37

void entropy_fill(void *out, size_t len);

/* A random number in [0, n), without modulo bias. n > 0. */
uint32_t entropy_below(uint32_t n);

/* len characters, drawn evenly from alphabet, and a NUL: out has room for len + 1 bytes. */
void entropy_text(const char *alphabet, char *out, size_t len);

/*
 * A buffer of random bytes fetched in advance. Use it where a few bytes are needed thousands of
 * times a second and a system call for each would be too slow. One thread at a time. Initialise
 * with { 0 }.
 */
struct entropy_pool {
	uint8_t bytes[1024];
	size_t left;
};

/*
 * The finaliser of splitmix64: a bijection, so a seed plus a counter gives ids that do not repeat
 * and look random. They can be guessed.
 */
uint64_t entropy_mix(uint64_t number);

/* UUIDs of RFC 9562: version 7 for the time now_us, and version 4. */
void entropy_uuid7(int64_t now_us, uint8_t out[static ENTROPY_UUID_SIZE]);
void entropy_pool_uuid7(struct entropy_pool *pool, int64_t now_us,
                        uint8_t out[static ENTROPY_UUID_SIZE]);
void entropy_uuid4(uint8_t out[static ENTROPY_UUID_SIZE]);

/* "0190f0c6-7c3e-7000-8000-000000000000". */
void entropy_uuid_format(const uint8_t uuid[static ENTROPY_UUID_SIZE],
                         char out[static ENTROPY_UUID_TEXT_SIZE]);

#endif
