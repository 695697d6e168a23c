/*
 * Pure. Codings of responses (RFC 9110, 8.4). A body that has a secret of ours beside the text of
 * somebody else must not be compressed: its length would tell how much of both is alike (BREACH).
 * The API's bodies have none that is the same in two responses.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_HTTP_COMPRESSION_H
#define WAYMARK_SERVICES_LINKS_API_HTTP_COMPRESSION_H

#include <stdbool.h>
#include <stddef.h>

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

/* bytes in a coding other than COMPRESSION_NONE. The caller frees the result. */
char *compression_apply(enum compression coding, const char *bytes, size_t len, size_t *out_len);

#endif
