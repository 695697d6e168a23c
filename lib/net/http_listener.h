/*
 * One thread at a time. Private to the http_* files: the listening sockets of a server, one for each of its loops.
 */
#ifndef WAYMARK_LIB_NET_HTTP_LISTENER_H
#define WAYMARK_LIB_NET_HTTP_LISTENER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"

/*
 * Binds and listens on address (NULL: all, IPv4 and IPv6) and *port (0: any free one, which is written back). More than
 * one socket share the port by SO_REUSEPORT, but only with each other: ERR_UNAVAILABLE (logged) if it was taken.
 */
enum err http_listener_open(const char *address, uint16_t *port, size_t count, int *fds,
                            const struct log *log) MUST_CHECK;

#endif
