/*
 * One thread at a time. Private to the http_* files: what happens to a request, from the library's calls to the queued
 * answer.
 */
#ifndef WAYMARK_LIB_NET_HTTP_REQUEST_H
#define WAYMARK_LIB_NET_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

struct http_connection;

/* Called after the head, for each piece of the body, and after the body. False: close the connection. */
bool http_request_advance(struct http_connection *c, const char *url, const char *method, const char *version,
                          const char *upload, size_t *upload_len);

/*
 * Refuses a request that the library cannot answer now, because it has not read all of it: writes the answer to the
 * socket itself. The connection must end after it.
 */
void http_request_refuse_on_socket(struct http_connection *c, unsigned status, const char *detail);

#endif
