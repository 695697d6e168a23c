/*
 * One thread at a time. Private to the http_* files: how the answer that was written into an exchange gets out.
 */
#ifndef WAYMARK_LIB_NET_HTTP_ANSWER_H
#define WAYMARK_LIB_NET_HTTP_ANSWER_H

#include "lib/base/err.h"

struct http_exchange;

/* Hands the answer to the library. ERR_INTERNAL: it was refused; nothing was queued. */
enum err http_answer_queue(struct http_exchange *x) MUST_CHECK;

/*
 * For a connection whose request is not complete, so that the library cannot answer: writes the answer to the socket
 * itself, as far as it takes it. The connection must be closed after it.
 */
void http_answer_send_raw(struct http_exchange *x, int fd);

#endif
