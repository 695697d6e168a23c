#include <brotli/decode.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include "services/links-api/http/compression.h"
#include "tests/support/test.h"

#define PLAIN_SIZE 4096

/* What a reader can see of the bytes that have arrived so far. */
static void decompress(enum compression coding, const struct strbuf *coded,
                       char out[static PLAIN_SIZE])
{
	size_t room = PLAIN_SIZE - 1, left = coded->len;
	if (coding == COMPRESSION_GZIP) {
		z_stream z = { .next_in = (Bytef *)coded->data,
			       .avail_in = (uInt)left,
			       .next_out = (Bytef *)out,
			       .avail_out = (uInt)room };
		assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
		inflate(&z, Z_SYNC_FLUSH);
		room = z.avail_out;
		inflateEnd(&z);
	} else {
		const uint8_t *in = (const uint8_t *)coded->data;
		uint8_t *plain = (uint8_t *)out;
		BrotliDecoderState *state = BrotliDecoderCreateInstance(NULL, NULL, NULL);
		BrotliDecoderDecompressStream(state, &left, &in, &room, &plain, NULL);
		BrotliDecoderDestroyInstance(state);
	}
	out[PLAIN_SIZE - 1 - room] = '\0';
}

TEST_CASE(each_part_can_be_read_when_it_has_arrived)
{
	static const char text[] = "a,b\r\n1,2\r\n3,4\r\n";
	static const size_t ends[] = { 5, 5, 10, 15 };
	for (enum compression coding = COMPRESSION_GZIP; coding < COMPRESSIONS; coding++) {
		char got[PLAIN_SIZE];
		struct strbuf coded;
		strbuf_init(&coded, PLAIN_SIZE);
		struct compression_stream *stream = compression_stream_new(coding);
		for (size_t i = 0, at = 0; i < 4; at = ends[i++]) {
			compression_stream_add(stream, text + at, ends[i] - at, i == 3, &coded);
			decompress(coding, &coded, got);
			assert_int_equal(strlen(got), ends[i]);
			assert_memory_equal(got, text, ends[i]);
		}
		compression_stream_free(stream);
		strbuf_clear(&coded);
	}
}

TEST_MAIN()
