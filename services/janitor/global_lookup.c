#include "services/janitor/global_lookup.h"

#include <ares.h>
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/select.h>

#include "lib/base/clock.h"
#include "lib/net/global_address.h"

#define TRY_MS 1000
#define TRIES 3
/* c-ares has one per server and transport; its macros reach for the sign bit beyond the 15th. */
#define SOCKETS_MAX 8

struct question {
	struct global_lookup found;
	bool is_over, has_private;
};

static void judge(struct question *question, const struct sockaddr *address, size_t len)
{
	struct global_lookup *found = &question->found;
	if (!global_address_is(address) || len > sizeof(found->addresses[0])) {
		question->has_private = true;
		return;
	}
	if (found->count < GLOBAL_LOOKUP_MAX)
		memcpy(&found->addresses[found->count++], address, len);
}

static void take_answer(void *arg, int status, int timeouts, struct ares_addrinfo *answer)
{
	struct question *question = arg;
	(void)status; /* what was found counts, even when one of the two questions failed */
	(void)timeouts;
	question->is_over = true;
	for (struct ares_addrinfo_node *node = answer ? answer->nodes : NULL; node; node = node->ai_next)
		judge(question, node->ai_addr, node->ai_addrlen);
	ares_freeaddrinfo(answer);
}

static bool is_literal(const char *host, struct question *question)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	if (inet_pton(AF_INET, host, &in.sin_addr) == 1)
		judge(question, (const struct sockaddr *)&in, sizeof(in));
	else if (inet_pton(AF_INET6, host, &in6.sin6_addr) == 1)
		judge(question, (const struct sockaddr *)&in6, sizeof(in6));
	else
		return false;
	return true;
}

static enum err open_channel(const char *servers, ares_channel *out)
{
	char lookups[] = "b";
	struct ares_options options = {
		.flags = ARES_FLAG_NOSEARCH, .timeout = TRY_MS, .tries = TRIES, .lookups = lookups
	};
	const int set = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS;
	if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS)
		return ERR_INTERNAL;
	if (ares_init_options(out, &options, set) != ARES_SUCCESS) {
		ares_library_cleanup();
		return ERR_INTERNAL;
	}
	if (servers[0] == '\0' || ares_set_servers_ports_csv(*out, servers) == ARES_SUCCESS)
		return OK;
	ares_destroy(*out);
	ares_library_cleanup();
	return ERR_INTERNAL;
}

static void close_channel(ares_channel channel)
{
	ares_destroy(channel);
	ares_library_cleanup();
}

/* One turn of c-ares' loop. */
static void turn(ares_channel channel, int64_t wait_ms)
{
	ares_socket_t sockets[SOCKETS_MAX];
	struct pollfd polled[SOCKETS_MAX];
	nfds_t count = 0;
	int wanted = ares_getsock(channel, sockets, SOCKETS_MAX);
	for (int i = 0; i < SOCKETS_MAX; i++) {
		short events = 0;
		if (ARES_GETSOCK_READABLE(wanted, i))
			events |= POLLIN;
		if (ARES_GETSOCK_WRITABLE(wanted, i))
			events |= POLLOUT;
		if (events != 0)
			polled[count++] = (struct pollfd){ .fd = sockets[i], .events = events };
	}
	struct timeval most = { wait_ms / 1000, wait_ms % 1000 * 1000 }, own;
	const struct timeval *wait = ares_timeout(channel, &most, &own);
	(void)poll(polled, count, (int)(wait->tv_sec * 1000 + wait->tv_usec / 1000 + 1));
	ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD); /* what has timed out */
	for (nfds_t i = 0; i < count; i++)
		ares_process_fd(channel,
		                polled[i].revents & (POLLIN | POLLERR | POLLHUP) ? polled[i].fd : ARES_SOCKET_BAD,
		                polled[i].revents & POLLOUT ? polled[i].fd : ARES_SOCKET_BAD);
}

static void ask(ares_channel channel, const char *host, int64_t timeout_ms, struct question *question)
{
	const struct ares_addrinfo_hints hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	const int64_t deadline_us = clock_steady_us(clock_system()) + timeout_ms * CLOCK_US_PER_MS;
	ares_getaddrinfo(channel, host, NULL, &hints, take_answer, question);
	while (!question->is_over) {
		int64_t left_us = deadline_us - clock_steady_us(clock_system());
		if (left_us <= 0)
			ares_cancel(channel); /* calls take_answer */
		else
			turn(channel, left_us / CLOCK_US_PER_MS);
	}
}

enum err global_lookup_host(const char *servers, const char *host, int64_t timeout_ms, struct global_lookup *out)
{
	struct question question = { 0 };
	if (!is_literal(host, &question)) {
		ares_channel channel;
		enum err err = open_channel(servers, &channel);
		if (err != OK)
			return err;
		ask(channel, host, timeout_ms, &question);
		close_channel(channel);
	}
	if (question.has_private)
		return ERR_INVALID;
	if (question.found.count == 0)
		return ERR_NOT_FOUND;
	*out = question.found;
	return OK;
}

bool global_lookup_refuses(const char *host)
{
	struct question question = { 0 };
	return is_literal(host, &question) && question.has_private;
}

bool global_lookup_servers_are_valid(const char *servers)
{
	ares_channel channel;
	if (servers[0] == '\0')
		return true;
	if (open_channel(servers, &channel) != OK)
		return false;
	close_channel(channel);
	return true;
}
