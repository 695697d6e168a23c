/* One thread at a time. Private to http_*. A server's listening sockets, one for each loop. */
#ifndef WAYMARK_LIB_HTTP_HTTP_LISTENER_H
#define WAYMARK_LIB_HTTP_HTTP_LISTENER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"

struct http_listener_config {
	/* NULL: all, IPv4 and IPv6. */
	const char *address;
	/* 0: any free port. */
	uint16_t port;
	/* Number of sockets. */
	size_t count;
	/* The kernel drops a peer that does not read for so long (TCP_USER_TIMEOUT). */
	int64_t stalled_ms;
	const struct log *log;
};

/*
 * Binds and listens; fds receives count sockets. They share the port (SO_REUSEPORT), but only with
 * each other. ERR_UNAVAILABLE: another socket has the port, or the address is invalid (logged).
 */
enum err http_listener_open(const struct http_listener_config *config, int *fds,
                            uint16_t *port) MUST_CHECK;

#endif
