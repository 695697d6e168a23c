/*
 * One thread at a time. Codings of responses (RFC 9110, 8.4). A body that has a secret of ours beside the text of
 * somebody else must not be compressed: its length would tell how much of both is alike (BREACH).
 * The API's bodies have none that is the same in two responses.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_HTTP_COMPRESSION_H
#define WAYMARK_SERVICES_LINKS_API_HTTP_COMPRESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/strbuf.h"

/* A better one is greater. */
enum compression {
	COMPRESSION_NONE,
	COMPRESSION_GZIP,
	COMPRESSION_BROTLI,
	COMPRESSIONS,
};

/* For Content-Encoding: "gzip"; NULL for COMPRESSION_NONE. Static storage. */
const char *compression_name(enum compression coding);

/*
 * The coding with the greatest weight in Accept-Encoding (NULL: no header), of equals the better
 * one, of those that is_offered has.
 */
enum compression compression_choose(const char *accept, const bool is_offered[static COMPRESSIONS]);

/* A body that is compressed in parts, in a coding other than COMPRESSION_NONE. Less than 1 MiB. */
struct compression_stream *compression_stream_new(enum compression coding);
/* stream may be NULL. */
void compression_stream_free(struct compression_stream *stream);
/* Appends to out as much as a reader needs for all bytes so far. is_last: and the end of the body. */
void compression_stream_add(struct compression_stream *stream, const char *bytes, size_t len,
                            bool is_last, struct strbuf *out);

#endif
