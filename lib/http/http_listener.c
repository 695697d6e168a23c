#include "lib/http/http_listener.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 1024

static_assert(offsetof(struct sockaddr_in6, sin6_port) == offsetof(struct sockaddr_in, sin_port),
              "port_of");

struct endpoint {
	struct sockaddr_storage address;
	socklen_t len;
};

static enum err endpoint_of(const char *address, uint16_t port, bool ipv6, struct endpoint *out)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
		                   .sin6_port = htons(port),
		                   .sin6_addr = in6addr_any };
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	bool is_v6 = address == NULL ? ipv6 : inet_pton(AF_INET6, address, &v6.sin6_addr) == 1;
	if (!is_v6 && address != NULL && inet_pton(AF_INET, address, &v4.sin_addr) != 1)
		return ERR_INVALID;
	*out = (struct endpoint){ .len = is_v6 ? sizeof(v6) : sizeof(v4) };
	if (is_v6)
		memcpy(&out->address, &v6, sizeof(v6));
	else
		memcpy(&out->address, &v4, sizeof(v4));
	return OK;
}

static bool set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) == 0;
}

/* Closes fd and keeps errno. Always -1. */
static int close_keeping_errno(int fd)
{
	int reason = errno;
	close(fd);
	errno = reason;
	return -1;
}

/* shared: other sockets of this user may bind the same port. -1: failed, see errno. */
static int bind_one(const struct endpoint *endpoint, bool shared, int64_t stalled_ms)
{
	int fd = socket(endpoint->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	bool ready = set(fd, SOL_SOCKET, SO_REUSEADDR, 1) &&
	             (!shared || set(fd, SOL_SOCKET, SO_REUSEPORT, 1));
	if (endpoint->address.ss_family == AF_INET6)
		ready = set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0) && ready;
	/* accepted sockets inherit this one */
	ready = set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)stalled_ms) && ready;
	if (ready && bind(fd, (const struct sockaddr *)&endpoint->address, endpoint->len) == 0)
		return fd;
	return close_keeping_errno(fd);
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in6 bound = { 0 }; /* both families have the port at the same offset */
	socklen_t len = sizeof(bound);
	return getsockname(fd, (struct sockaddr *)&bound, &len) == 0 ? ntohs(bound.sin6_port) : 0;
}

/* The first socket binds alone, so that it fails if the port is taken. Then it shares the port. */
static int open_one(const struct http_listener_config *config, bool ipv6, bool first,
                    uint16_t *port)
{
	struct endpoint endpoint;
	if (endpoint_of(config->address, *port, ipv6, &endpoint) != OK) {
		errno = EINVAL;
		return -1;
	}
	int fd = bind_one(&endpoint, !first, config->stalled_ms);
	if (fd < 0)
		return -1;
	if ((first && config->count > 1 && !set(fd, SOL_SOCKET, SO_REUSEPORT, 1)) ||
	    listen(fd, BACKLOG) != 0)
		return close_keeping_errno(fd);
	*port = port_of(fd);
	return fd;
}

/* 0, or the errno of the first failure; nothing stays open then. */
static int open_all(const struct http_listener_config *config, bool ipv6, int *fds, uint16_t *port)
{
	*port = config->port;
	for (size_t open = 0; open < config->count; open++) {
		fds[open] = open_one(config, ipv6, open == 0, port);
		if (fds[open] >= 0)
			continue;
		int reason = errno;
		while (open > 0)
			close(fds[--open]);
		return reason;
	}
	return 0;
}

enum err http_listener_open(const struct http_listener_config *config, int *fds, uint16_t *port)
{
	uint16_t bound;
	int reason = open_all(config, true, fds, &bound);
	if (reason == EAFNOSUPPORT || reason == EADDRNOTAVAIL) /* a machine without IPv6 */
		reason = open_all(config, false, fds, &bound);
	if (reason != 0) {
		log_error(config->log, "http_listen_failed",
		          LOG_TEXT("address", config->address == NULL ? "*" : config->address),
		          LOG_INT("port", config->port),
		          LOG_TEXT("reason", strerrordesc_np(reason)));
		return ERR_UNAVAILABLE;
	}
	*port = bound;
	return OK;
}
