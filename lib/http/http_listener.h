/* One thread at a time. Private to http_*. A server's listening sockets, one for each loop. */
#ifndef WAYMARK_LIB_HTTP_HTTP_LISTENER_H
#define WAYMARK_LIB_HTTP_HTTP_LISTENER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"

struct http_listener_config {
	const char *address; /* NULL: all, IPv4 and IPv6 */
	uint16_t port;       /* 0: any free port */
	size_t count;        /* number of sockets */
	int64_t stalled_ms;  /* the kernel drops a peer that does not read for so long
	                        (TCP_USER_TIMEOUT) */
	const struct log *log;
};

/*
 * Binds and listens; fds receives count sockets. They share the port (SO_REUSEPORT), but only with
 * each other. ERR_UNAVAILABLE: another socket has the port, or the address is invalid (logged).
 */
enum err http_listener_open(const struct http_listener_config *config, int *fds,
                            uint16_t *port) MUST_CHECK;

#endif
