/*
 * One thread at a time. Private to the http_* files: bodies that are made piece by piece (http_exchange_set_source).
 * The library asks for bytes in the loop's thread; when a piece has been taken, the connection is suspended until a
 * worker has made the next one.
 */
#ifndef WAYMARK_LIB_NET_HTTP_STREAM_H
#define WAYMARK_LIB_NET_HTTP_STREAM_H

struct http_exchange;
struct MHD_Response;

/* The library's response for an exchange with a source; NULL: it cannot be made. */
struct MHD_Response *http_stream_response(struct http_exchange *x);

#endif
