#include "tests/integration/analytics-consumer/commit_fault_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "tests/integration/backend/backend_fixture.h"
#include "tests/support/test.h"

#define POLL_MS 20

struct commit_fault_proxy {
	int listener;
	uint16_t server_port;
	pthread_t thread;
	_Atomic bool closing;
	_Atomic int commits, lost_requests, lost_replies;
	/* Open ones, each with its own thread. */
	_Atomic int connections;
};

struct connection {
	struct commit_fault_proxy *proxy;
	int client;
	int server;
};

static struct sockaddr_in loopback(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
		                     .sin_port = htons(port),
		                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static bool send_all(int fd, const char *bytes, ssize_t len)
{
	while (len > 0) {
		ssize_t sent = send(fd, bytes, (size_t)len, MSG_NOSIGNAL);
		if (sent <= 0)
			return false;
		bytes += sent;
		len -= sent;
	}
	return true;
}

/* libpq sends COMMIT in a packet of its own, after all earlier replies, so it is never split. */
static bool pass_to_server(struct connection *c, char *buffer, size_t size)
{
	ssize_t len = recv(c->client, buffer, size, 0);
	if (len <= 0)
		return false;
	bool commit = buffer[0] == 'Q' && memmem(buffer, (size_t)len, "COMMIT", 6);
	int turn = commit ? atomic_fetch_add(&c->proxy->commits, 1) % 3 : 0;
	if (turn == 1) {
		atomic_fetch_add(&c->proxy->lost_requests, 1);
		return false;
	}
	if (!send_all(c->server, buffer, len))
		return false;
	if (turn == 2) {
		/* The reply arrives after the server has committed. */
		(void)(recv(c->server, buffer, size, 0) > 0);
		atomic_fetch_add(&c->proxy->lost_replies, 1);
		return false;
	}
	return true;
}

static bool pass_to_client(const struct connection *c, char *buffer, size_t size)
{
	ssize_t len = recv(c->server, buffer, size, 0);
	return len > 0 && send_all(c->client, buffer, len);
}

static void *pump(void *arg)
{
	struct connection *c = arg;
	struct commit_fault_proxy *proxy = c->proxy;
	char *buffer = mem_zero(65536);
	bool open = true;
	while (open && !atomic_load(&proxy->closing)) {
		struct pollfd fds[] = { { .fd = c->client, .events = POLLIN },
			                { .fd = c->server, .events = POLLIN } };
		poll(fds, 2, POLL_MS);
		if (fds[0].revents)
			open = pass_to_server(c, buffer, 65536);
		if (open && fds[1].revents)
			open = pass_to_client(c, buffer, 65536);
	}
	close(c->client);
	close(c->server);
	free(buffer);
	free(c);
	atomic_fetch_sub(&proxy->connections, 1);
	return NULL;
}

static void serve_connection(struct commit_fault_proxy *proxy, int client)
{
	struct connection *c = mem_zero(sizeof(*c));
	struct sockaddr_in address = loopback(proxy->server_port);
	*c = (struct connection){ .proxy = proxy,
		                  .client = client,
		                  .server = socket(AF_INET, SOCK_STREAM, 0) };
	int one = 1;
	setsockopt(c->server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(c->client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	pthread_t thread;
	if (connect(c->server, (struct sockaddr *)&address, sizeof(address)) != 0) {
		close(c->client);
		close(c->server);
		free(c);
		return;
	}
	atomic_fetch_add(&proxy->connections, 1);
	if (pthread_create(&thread, NULL, pump, c) != 0)
		abort();
	pthread_detach(thread);
}

static void *serve(void *arg)
{
	struct commit_fault_proxy *proxy = arg;
	while (!atomic_load(&proxy->closing)) {
		struct pollfd fd = { .fd = proxy->listener, .events = POLLIN };
		if (poll(&fd, 1, POLL_MS) <= 0)
			continue;
		int client = accept(proxy->listener, NULL, NULL);
		if (client >= 0)
			serve_connection(proxy, client);
	}
	return NULL;
}

struct commit_fault_proxy *commit_fault_proxy_new(char *url, size_t size)
{
	struct commit_fault_proxy *proxy = mem_zero(sizeof(*proxy));
	struct sockaddr_in address = loopback(0);
	socklen_t len = sizeof(address);
	proxy->listener = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(proxy->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(proxy->listener, 16), 0);
	assert_int_equal(getsockname(proxy->listener, (struct sockaddr *)&address, &len), 0);
	proxy->server_port = backend_fixture_port(url);
	backend_fixture_set_port(url, size, ntohs(address.sin_port));
	assert_int_equal(pthread_create(&proxy->thread, NULL, serve, proxy), 0);
	return proxy;
}

void commit_fault_proxy_free(struct commit_fault_proxy *proxy)
{
	atomic_store(&proxy->closing, true);
	pthread_join(proxy->thread, NULL);
	while (atomic_load(&proxy->connections) > 0)
		poll(NULL, 0, 1);
	close(proxy->listener);
	free(proxy);
}

int commit_fault_proxy_lost_requests(const struct commit_fault_proxy *proxy)
{
	return atomic_load(&proxy->lost_requests);
}

int commit_fault_proxy_lost_replies(const struct commit_fault_proxy *proxy)
{
	return atomic_load(&proxy->lost_replies);
}
