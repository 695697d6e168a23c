#include "services/links-api/http/compression.h"

#include <brotli/encode.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#include "lib/base/mem.h"
#include "lib/http/http_accept.h"

/* Of 11; the higher ones take more than a millisecond for 30 kB. */
#define BROTLI_QUALITY 5
/* Logarithm of the size in bytes. */
#define BROTLI_WINDOW 19
/* Makes deflate write gzip. */
#define GZIP_WINDOW (15 + 16)
#define GZIP_MEMORY 8

const char *compression_name(enum compression coding)
{
	static const char *const names[COMPRESSIONS] = { NULL, "gzip", "br" };
	return names[coding];
}

/* "*" stands for codings that are not listed (RFC 9110, 12.5.3). A malformed weight counts as 0. */
static int weight_of(const char *accept, const char *coding)
{
	int any = 0;
	struct http_accept_item item;
	while (http_accept_next(&accept, &item)) {
		int weight = item.weight == HTTP_ACCEPT_WEIGHT_INVALID ? 0 : item.weight;
		if (http_accept_is(&item, coding))
			return weight;
		if (http_accept_is(&item, "*"))
			any = weight;
	}
	return any;
}

enum compression compression_choose(const char *accept, const bool is_offered[static COMPRESSIONS])
{
	enum compression chosen = COMPRESSION_NONE;
	int best = 0;
	for (enum compression i = COMPRESSION_BROTLI; accept && i > COMPRESSION_NONE; i--) {
		int weight = is_offered[i] ? weight_of(accept, compression_name(i)) : 0;
		if (weight > best) {
			best = weight;
			chosen = i;
		}
	}
	return chosen;
}

/* Both fail only without memory, because the result has room for the worst case. */

static char *apply_gzip(const char *bytes, size_t len, size_t *out_len)
{
	z_stream z = { 0 };
	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
	                 Z_DEFAULT_STRATEGY) != Z_OK)
		abort();
	size_t bound = deflateBound(&z, len);
	char *out = mem_resize(NULL, bound, 1);
	z.next_in = (Bytef *)(uintptr_t)bytes;
	z.avail_in = (uInt)len;
	z.next_out = (Bytef *)out;
	z.avail_out = (uInt)bound;
	if (deflate(&z, Z_FINISH) != Z_STREAM_END)
		abort();
	*out_len = z.total_out;
	deflateEnd(&z);
	return out;
}

static char *apply_brotli(const char *bytes, size_t len, size_t *out_len)
{
	*out_len = BrotliEncoderMaxCompressedSize(len);
	uint8_t *out = mem_resize(NULL, *out_len, 1);
	if (!BrotliEncoderCompress(BROTLI_QUALITY, BROTLI_WINDOW, BROTLI_MODE_TEXT, len,
	                           (const uint8_t *)bytes, out_len, out))
		abort();
	return (char *)out;
}

char *compression_apply(enum compression coding, const char *bytes, size_t len, size_t *out_len)
{
	return coding == COMPRESSION_GZIP ? apply_gzip(bytes, len, out_len)
	                                  : apply_brotli(bytes, len, out_len);
}
