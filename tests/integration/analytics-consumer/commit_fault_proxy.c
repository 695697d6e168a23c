#include "tests/integration/analytics-consumer/commit_fault_proxy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "tests/integration/net/net_fixture.h"

#define LOOK_MS 20

struct commit_fault_proxy {
	int listener;
	uint16_t server_port;
	pthread_t thread;
	atomic_bool closing;
	atomic_int commits, there, back;
	atomic_int open; /* connections, each with a thread */
};

struct connection {
	struct commit_fault_proxy *cutter;
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

/* A COMMIT is sent alone, after everything before it was answered: it is never split. */
static bool pass_to_server(struct connection *c, char *buffer, size_t size)
{
	ssize_t len = recv(c->client, buffer, size, 0);
	if (len <= 0)
		return false;
	bool commit = buffer[0] == 'Q' && memmem(buffer, (size_t)len, "COMMIT", 6);
	int turn = commit ? atomic_fetch_add(&c->cutter->commits, 1) % 3 : 0;
	if (turn == 1) {
		atomic_fetch_add(&c->cutter->there, 1);
		return false;
	}
	if (!send_all(c->server, buffer, len))
		return false;
	if (turn == 2) {
		/* The server answers when it has committed. */
		(void)(recv(c->server, buffer, size, 0) > 0);
		atomic_fetch_add(&c->cutter->back, 1);
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
	struct commit_fault_proxy *cutter = c->cutter;
	char *buffer = mem_zero(65536);
	bool open = true;
	while (open && !atomic_load(&cutter->closing)) {
		struct pollfd fds[] = { { .fd = c->client, .events = POLLIN }, { .fd = c->server, .events = POLLIN } };
		poll(fds, 2, LOOK_MS);
		if (fds[0].revents)
			open = pass_to_server(c, buffer, 65536);
		if (open && fds[1].revents)
			open = pass_to_client(c, buffer, 65536);
	}
	close(c->client);
	close(c->server);
	free(buffer);
	free(c);
	atomic_fetch_sub(&cutter->open, 1);
	return NULL;
}

static void serve_connection(struct commit_fault_proxy *cutter, int client)
{
	struct connection *c = mem_zero(sizeof(*c));
	struct sockaddr_in address = loopback(cutter->server_port);
	*c = (struct connection){ .cutter = cutter, .client = client, .server = socket(AF_INET, SOCK_STREAM, 0) };
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
	atomic_fetch_add(&cutter->open, 1);
	if (pthread_create(&thread, NULL, pump, c) != 0)
		abort();
	pthread_detach(thread);
}

static void *serve(void *arg)
{
	struct commit_fault_proxy *cutter = arg;
	while (!atomic_load(&cutter->closing)) {
		struct pollfd fd = { .fd = cutter->listener, .events = POLLIN };
		if (poll(&fd, 1, LOOK_MS) <= 0)
			continue;
		int client = accept(cutter->listener, NULL, NULL);
		if (client >= 0)
			serve_connection(cutter, client);
	}
	return NULL;
}

struct commit_fault_proxy *commit_fault_proxy_new(char *url, size_t size)
{
	struct commit_fault_proxy *cutter = mem_zero(sizeof(*cutter));
	struct sockaddr_in address = loopback(0);
	socklen_t len = sizeof(address);
	cutter->listener = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(cutter->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(cutter->listener, 16), 0);
	assert_int_equal(getsockname(cutter->listener, (struct sockaddr *)&address, &len), 0);
	cutter->server_port = net_fixture_port(url);
	net_fixture_set_port(url, size, ntohs(address.sin_port));
	assert_int_equal(pthread_create(&cutter->thread, NULL, serve, cutter), 0);
	return cutter;
}

void commit_fault_proxy_free(struct commit_fault_proxy *cutter)
{
	atomic_store(&cutter->closing, true);
	pthread_join(cutter->thread, NULL);
	while (atomic_load(&cutter->open) > 0)
		poll(NULL, 0, 1);
	close(cutter->listener);
	free(cutter);
}

int commit_fault_proxy_lost_requests(const struct commit_fault_proxy *cutter)
{
	return atomic_load(&cutter->there);
}

int commit_fault_proxy_lost_replies(const struct commit_fault_proxy *cutter)
{
	return atomic_load(&cutter->back);
}
