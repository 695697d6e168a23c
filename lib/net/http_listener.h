/*
 * One thread at a time. Private to the http_* files: the listening sockets of a server, one for each of its loops.
 */
#ifndef WAYMARK_LIB_NET_HTTP_LISTENER_H
#define WAYMARK_LIB_NET_HTTP_LISTENER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"

struct http_listener_config {
	const char *address; /* NULL: all, IPv4 and IPv6 */
	uint16_t port;       /* 0: any free one */
	size_t count;        /* of sockets */
	int64_t stalled_ms;  /* a peer that does not take its answer for so long is given up (TCP_USER_TIMEOUT) */
	const struct log *log;
};

/*
 * Binds and listens; fds gets count sockets. They share the port by SO_REUSEPORT, but only with each other:
 * ERR_UNAVAILABLE (logged) if somebody has it.
 */
enum err http_listener_open(const struct http_listener_config *config, int *fds, uint16_t *port) MUST_CHECK;

#endif
