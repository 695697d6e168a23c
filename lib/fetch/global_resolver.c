#include "lib/fetch/global_resolver.h"

#include <ares.h>
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>

#include "lib/base/client_ip.h"
#include "lib/base/clock.h"
#include "lib/base/env.h"
#include "lib/base/global_address.h"

#define ATTEMPT_MS 1000
#define ATTEMPTS 3
/* c-ares has one per server and transport. */
#define SOCKETS_MAX 8

/* What c-ares waits for at the moment. */
struct sockets {
	struct pollfd polled[SOCKETS_MAX];
	nfds_t count;
};

struct lookup {
	struct global_resolver_addresses found;
	bool is_done, has_private;
};

void global_resolver_start(void)
{
	if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS)
		abort();
}

void global_resolver_end(void)
{
	ares_library_cleanup();
}

static void add_address(struct lookup *lookup, const struct sockaddr *address, size_t len)
{
	struct global_resolver_addresses *found = &lookup->found;
	if (!global_address_is(address) || len > sizeof(found->addresses[0])) {
		lookup->has_private = true;
		return;
	}
	if (found->count < GLOBAL_RESOLVER_ADDRESSES_MAX)
		memcpy(&found->addresses[found->count++], address, len);
}

static void on_addrinfo(void *arg, int status, int timeouts, struct ares_addrinfo *answer)
{
	struct lookup *lookup = arg;
	(void)status; /* found addresses count, even if one of the two queries (A, AAAA) failed */
	(void)timeouts;
	lookup->is_done = true;
	for (struct ares_addrinfo_node *node = answer ? answer->nodes : NULL; node;
	     node = node->ai_next)
		add_address(lookup, node->ai_addr, node->ai_addrlen);
	ares_freeaddrinfo(answer);
}

static bool is_literal(const char *host, struct lookup *lookup)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	if (inet_pton(AF_INET, host, &in.sin_addr) == 1)
		add_address(lookup, (const struct sockaddr *)&in, sizeof(in));
	else if (inet_pton(AF_INET6, host, &in6.sin6_addr) == 1)
		add_address(lookup, (const struct sockaddr *)&in6, sizeof(in6));
	else
		return false;
	return true;
}

/* A socket above SOCKETS_MAX is not polled: its server counts as silent. */
static void on_socket(void *arg, ares_socket_t fd, int is_readable, int is_writable)
{
	struct sockets *sockets = arg;
	nfds_t i = 0;
	while (i < sockets->count && sockets->polled[i].fd != fd)
		i++;
	if (i == SOCKETS_MAX)
		return;
	if (!is_readable && !is_writable) {
		if (i < sockets->count)
			sockets->polled[i] = sockets->polled[--sockets->count];
		return;
	}
	const int events = (is_readable ? POLLIN : 0) | (is_writable ? POLLOUT : 0);
	sockets->polled[i] = (struct pollfd){ .fd = fd, .events = (short)events };
	if (i == sockets->count)
		sockets->count++;
}

/* sockets must live as long as the channel. */
static enum err open_channel(const char *servers, struct sockets *sockets, ares_channel *out)
{
	char lookups[] = "b";
	struct ares_options options = { .flags = ARES_FLAG_NOSEARCH,
		                        .timeout = ATTEMPT_MS,
		                        .tries = ATTEMPTS,
		                        .lookups = lookups,
		                        .sock_state_cb = on_socket,
		                        .sock_state_cb_data = sockets };
	const int set = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS |
	                ARES_OPT_SOCK_STATE_CB;
	if (ares_init_options(out, &options, set) != ARES_SUCCESS)
		return ERR_INTERNAL;
	if (servers[0] == '\0' || ares_set_servers_ports_csv(*out, servers) == ARES_SUCCESS)
		return OK;
	ares_destroy(*out);
	return ERR_INTERNAL;
}

/* One iteration of c-ares' event loop. It calls on_socket, so that the loop reads a copy. */
static void poll_once(ares_channel channel, const struct sockets *sockets, int64_t wait_ms)
{
	struct sockets ready = *sockets;
	struct timeval most = { wait_ms / 1000, wait_ms % 1000 * 1000 }, own;
	const struct timeval *wait = ares_timeout(channel, &most, &own);
	(void)poll(ready.polled, ready.count,
	           (int)(wait->tv_sec * 1000 + wait->tv_usec / 1000 + 1));
	ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD); /* handles timeouts */
	for (nfds_t i = 0; i < ready.count; i++) {
		const struct pollfd *each = &ready.polled[i];
		ares_process_fd(channel,
		                each->revents & (POLLIN | POLLERR | POLLHUP) ? each->fd
		                                                             : ARES_SOCKET_BAD,
		                each->revents & POLLOUT ? each->fd : ARES_SOCKET_BAD);
	}
}

static void resolve(ares_channel channel, const struct sockets *sockets, const char *host,
                    int64_t timeout_ms, struct lookup *lookup)
{
	const struct ares_addrinfo_hints hints = { .ai_family = AF_UNSPEC,
		                                   .ai_socktype = SOCK_STREAM };
	const int64_t deadline_us = clock_steady_us(clock_system()) + timeout_ms * CLOCK_US_PER_MS;
	ares_getaddrinfo(channel, host, NULL, &hints, on_addrinfo, lookup);
	while (!lookup->is_done) {
		int64_t left_us = deadline_us - clock_steady_us(clock_system());
		if (left_us <= 0)
			ares_cancel(channel); /* calls on_addrinfo */
		else
			poll_once(channel, sockets, left_us / CLOCK_US_PER_MS);
	}
}

enum err global_resolver_lookup(const char *servers, const char *host, int64_t timeout_ms,
                                struct global_resolver_addresses *out)
{
	struct lookup lookup = { 0 };
	if (!is_literal(host, &lookup)) {
		struct sockets sockets = { .count = 0 };
		ares_channel channel;
		enum err err = open_channel(servers, &sockets, &channel);
		if (err != OK)
			return err;
		resolve(channel, &sockets, host, timeout_ms, &lookup);
		ares_destroy(channel);
	}
	if (lookup.has_private)
		return ERR_INVALID;
	if (lookup.found.count == 0)
		return ERR_NOT_FOUND;
	*out = lookup.found;
	return OK;
}

bool global_resolver_is_private_literal(const char *host)
{
	struct lookup lookup = { 0 };
	return is_literal(host, &lookup) && lookup.has_private;
}

/* True without a port too. c-ares takes any digits and ignores what follows them. */
static bool has_valid_port(const char *server)
{
	const char *bracket = strchr(server, ']');
	const char *colon = strchr(bracket ? bracket : server, ':');
	bool is_bare_ipv6 = !bracket && colon && strchr(colon + 1, ':');
	return !colon || is_bare_ipv6 || env_check_is_port(colon + 1, strlen(colon + 1));
}

bool global_resolver_server_is_valid(const char *server)
{
	struct client_ip address;
	struct sockets sockets = { .count = 0 };
	ares_channel channel;
	if (client_ip_parse(server, strlen(server), &address) != OK || !has_valid_port(server))
		return false;
	global_resolver_start();
	bool is_valid = open_channel(server, &sockets, &channel) == OK;
	if (is_valid)
		ares_destroy(channel);
	global_resolver_end();
	return is_valid;
}
