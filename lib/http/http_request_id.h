/*
 * One thread at a time per source. Private to the http_* files. Request ids: cheap, and unique
 * across processes. They are not secret and can be guessed.
 */
#ifndef WAYMARK_LIB_HTTP_HTTP_REQUEST_ID_H
#define WAYMARK_LIB_HTTP_HTTP_REQUEST_ID_H

#include <stdbool.h>
#include <stdint.h>

#define HTTP_REQUEST_ID_LEN 24
#define HTTP_REQUEST_ID_LEN_MAX 64

struct http_request_id_source {
	uint64_t seed, count;
	uint32_t origin;
};

void http_request_id_init(struct http_request_id_source *source);
void http_request_id_next(struct http_request_id_source *source,
                          char out[static HTTP_REQUEST_ID_LEN + 1]);

/* 1 to 64 of [A-Za-z0-9._-]. */
bool http_request_id_is_valid(const char *text);

#endif
