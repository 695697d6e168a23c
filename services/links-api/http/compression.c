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
#define BLOCK_BYTES 16384

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

struct compression_stream {
	enum compression coding;
	z_stream gzip;
	BrotliEncoderState *brotli;
};

struct compression_stream *compression_stream_new(enum compression coding)
{
	struct compression_stream *stream = mem_zero(sizeof(*stream));
	stream->coding = coding;
	if (coding == COMPRESSION_GZIP) {
		if (deflateInit2(&stream->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW,
		                 GZIP_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
			abort();
		return stream;
	}
	stream->brotli = BrotliEncoderCreateInstance(NULL, NULL, NULL);
	if (!stream->brotli ||
	    !BrotliEncoderSetParameter(stream->brotli, BROTLI_PARAM_QUALITY, BROTLI_QUALITY) ||
	    !BrotliEncoderSetParameter(stream->brotli, BROTLI_PARAM_LGWIN, BROTLI_WINDOW))
		abort();
	return stream;
}

void compression_stream_free(struct compression_stream *stream)
{
	if (!stream)
		return;
	if (stream->coding == COMPRESSION_GZIP)
		deflateEnd(&stream->gzip);
	else
		BrotliEncoderDestroyInstance(stream->brotli);
	free(stream);
}

/* Both codings fail only without memory. */

static void add_gzip(z_stream *gzip, const char *bytes, size_t len, bool is_last,
                     struct strbuf *out)
{
	unsigned char block[BLOCK_BYTES];
	gzip->next_in = (Bytef *)(uintptr_t)bytes;
	gzip->avail_in = (uInt)len;
	do {
		gzip->next_out = block;
		gzip->avail_out = sizeof(block);
		if (deflate(gzip, is_last ? Z_FINISH : Z_SYNC_FLUSH) == Z_STREAM_ERROR)
			abort();
		strbuf_add(out, block, sizeof(block) - gzip->avail_out);
	} while (gzip->avail_out == 0);
}

static void add_brotli(BrotliEncoderState *brotli, const char *bytes, size_t len, bool is_last,
                       struct strbuf *out)
{
	const uint8_t *in = (const uint8_t *)bytes;
	do {
		size_t room = 0, part_len = 0;
		if (!BrotliEncoderCompressStream(
			    brotli, is_last ? BROTLI_OPERATION_FINISH : BROTLI_OPERATION_FLUSH,
			    &len, &in, &room, NULL, NULL))
			abort();
		const uint8_t *part = BrotliEncoderTakeOutput(brotli, &part_len);
		strbuf_add(out, part, part_len);
	} while (len > 0 || BrotliEncoderHasMoreOutput(brotli));
}

void compression_stream_add(struct compression_stream *stream, const char *bytes, size_t len,
                            bool is_last, struct strbuf *out)
{
	if (stream->coding == COMPRESSION_GZIP)
		add_gzip(&stream->gzip, bytes, len, is_last, out);
	else
		add_brotli(stream->brotli, bytes, len, is_last, out);
}
