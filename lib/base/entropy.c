#include "lib/base/entropy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "lib/base/array.h"
#include "lib/base/digest.h"

void entropy_fill(void *out, size_t len)
{
	uint8_t *next = out;
	while (len > 0) {
		ssize_t got = getrandom(next, len, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			abort();
		next += got;
		len -= (size_t)got;
	}
}

uint32_t entropy_below(uint32_t n)
{
	/* 2^32 mod n. Draws below it would make small results more likely. */
	uint32_t biased = -n % n;
	uint32_t draw;
	do {
		entropy_fill(&draw, sizeof(draw));
	} while (draw < biased);
	return draw % n;
}

uint64_t entropy_mix(uint64_t number)
{
	number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	number = (number ^ (number >> 27)) * UINT64_C(0x94d049bb133111eb);
	return number ^ (number >> 31);
}

void entropy_text(const char *alphabet, char *out, size_t len)
{
	size_t n = strlen(alphabet);
	if (n == 0 || n > 256)
		abort();
	size_t unbiased = 256 - 256 % n;
	size_t done = 0;
	while (done < len) {
		uint8_t draws[32];
		entropy_fill(draws, sizeof(draws));
		for (size_t i = 0; i < sizeof(draws) && done < len; i++)
			if (draws[i] < unbiased)
				out[done++] = alphabet[draws[i] % n];
	}
	out[len] = '\0';
}

static void set_version(uint8_t uuid[static ENTROPY_UUID_SIZE], uint8_t version)
{
	uuid[6] = (uint8_t)(version << 4 | (uuid[6] & 0x0f));
	uuid[8] = (uint8_t)(0x80 | (uuid[8] & 0x3f));
}

#define UUID7_RANDOM_AT 8
#define UUID7_RANDOM_BYTES (ENTROPY_UUID_SIZE - UUID7_RANDOM_AT)

/* Fills in everything except the random bytes, which the caller has set. */
static void finish_uuid7(int64_t now_us, uint8_t out[static ENTROPY_UUID_SIZE])
{
	uint64_t us = now_us > 0 ? (uint64_t)now_us : 0;
	uint64_t ms = us / 1000;
	/* RFC 9562, 6.2, method 3: rand_a holds a fraction of the ms, so that ids sort by µs. */
	uint64_t fraction = us % 1000 * 4096 / 1000;
	for (int i = 0; i < 6; i++)
		out[i] = (uint8_t)(ms >> (40 - 8 * i));
	out[6] = (uint8_t)(fraction >> 8);
	out[7] = (uint8_t)fraction;
	set_version(out, 7);
}

void entropy_uuid7(int64_t now_us, uint8_t out[static ENTROPY_UUID_SIZE])
{
	entropy_fill(out + UUID7_RANDOM_AT, UUID7_RANDOM_BYTES);
	finish_uuid7(now_us, out);
}

void entropy_pool_uuid7(struct entropy_pool *pool, int64_t now_us,
                        uint8_t out[static ENTROPY_UUID_SIZE])
{
	if (pool->left < UUID7_RANDOM_BYTES) {
		entropy_fill(pool->bytes, sizeof(pool->bytes));
		pool->left = sizeof(pool->bytes);
	}
	pool->left -= UUID7_RANDOM_BYTES;
	memcpy(out + UUID7_RANDOM_AT, pool->bytes + pool->left, UUID7_RANDOM_BYTES);
	finish_uuid7(now_us, out);
}

void entropy_uuid4(uint8_t out[static ENTROPY_UUID_SIZE])
{
	entropy_fill(out, ENTROPY_UUID_SIZE);
	set_version(out, 4);
}

void entropy_uuid_format(const uint8_t uuid[static ENTROPY_UUID_SIZE],
                         char out[static ENTROPY_UUID_TEXT_SIZE])
{
	static const size_t group_sizes[] = { 4, 2, 2, 2, 6 };
	char *next = out;
	size_t from = 0;
	for (size_t g = 0; g < ARRAY_SIZE(group_sizes); g++) {
		if (g > 0)
			*next++ = '-';
		digest_hex(uuid + from, group_sizes[g], next);
		next += 2 * group_sizes[g];
		from += group_sizes[g];
	}
}
