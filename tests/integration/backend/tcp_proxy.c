#include "tests/integration/backend/tcp_proxy.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "tests/support/test.h"

#define PAIRS_MAX 64
#define POLL_MS 5

/* end[0]: the client's socket; end[1]: the server's. */
struct pair {
	int end[2];
};

struct tcp_proxy {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t applied;
	/* Requested. */
	enum tcp_proxy_mode mode;
	/* Requested. */
	bool cut;
	bool closing;
	/* Commands. */
	uint64_t requested, done;
	_Atomic uint16_t server_port;
	uint16_t port;
	int listener;
	struct pair pairs[PAIRS_MAX];
	size_t count;
	_Atomic uint64_t accepted;
};

static struct sockaddr_in loopback(uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return at;
}

static int listen_on(uint16_t port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;
	struct sockaddr_in at = loopback(port);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 || listen(fd, PAIRS_MAX) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void accept_one(struct tcp_proxy *p)
{
	int client = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
	if (client < 0)
		return;
	atomic_fetch_add(&p->accepted, 1);
	int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in at = loopback(atomic_load(&p->server_port));
	if (p->count == PAIRS_MAX || connect(server, (struct sockaddr *)&at, sizeof(at)) != 0) {
		close(client);
		close(server);
		return;
	}
	p->pairs[p->count++] = (struct pair){ { client, server } };
}

static void end_pair(struct tcp_proxy *p, size_t i)
{
	close(p->pairs[i].end[0]);
	close(p->pairs[i].end[1]);
	p->pairs[i] = p->pairs[--p->count];
}

/* False: one side has closed. */
static bool forward_bytes(int from, int to)
{
	char bytes[16384];
	ssize_t n = recv(from, bytes, sizeof(bytes), MSG_DONTWAIT);
	for (ssize_t sent = 0; sent < n;) {
		ssize_t m = send(to, bytes + sent, (size_t)(n - sent), MSG_NOSIGNAL);
		if (m <= 0)
			return false;
		sent += m;
	}
	return n > 0;
}

static void forward(struct tcp_proxy *p, const struct pollfd *fds)
{
	for (size_t i = p->count; i-- > 0;) {
		bool is_open = true;
		for (size_t e = 0; e < 2 && is_open; e++) {
			if (fds[1 + 2 * i + e].revents)
				is_open = forward_bytes(p->pairs[i].end[e], p->pairs[i].end[1 - e]);
		}
		if (!is_open)
			end_pair(p, i);
	}
}

/* With the mutex held. */
static void apply_commands(struct tcp_proxy *p)
{
	if (p->mode == TCP_PROXY_REFUSE && p->listener >= 0) {
		close(p->listener);
		p->listener = -1;
	}
	if (p->mode != TCP_PROXY_REFUSE && p->listener < 0)
		p->listener = listen_on(p->port);
	while (p->count > 0 && (p->cut || p->mode == TCP_PROXY_REFUSE))
		end_pair(p, 0);
	p->cut = false;
	p->done = p->requested;
	pthread_cond_broadcast(&p->applied);
}

static void *run_proxy(void *arg)
{
	struct tcp_proxy *p = arg;
	for (;;) {
		pthread_mutex_lock(&p->mutex);
		apply_commands(p);
		bool frozen = p->mode == TCP_PROXY_FREEZE;
		bool closing = p->closing;
		pthread_mutex_unlock(&p->mutex);
		if (closing)
			return NULL;
		struct pollfd fds[1 + 2 * PAIRS_MAX] = { { .fd = p->listener, .events = POLLIN } };
		for (size_t i = 0; i < p->count; i++) {
			for (size_t e = 0; e < 2; e++)
				fds[1 + 2 * i + e] = (struct pollfd){ .fd = p->pairs[i].end[e],
					                              .events = POLLIN };
		}
		if (poll(fds, frozen ? 1 : 1 + 2 * p->count, POLL_MS) <= 0)
			continue;
		if (!frozen)
			forward(p, fds);
		if (fds[0].revents)
			accept_one(p);
	}
}

struct tcp_proxy *tcp_proxy_new(uint16_t port)
{
	struct tcp_proxy *p = mem_zero(sizeof(*p));
	atomic_init(&p->server_port, port);
	p->listener = listen_on(0);
	assert_true(p->listener >= 0);
	struct sockaddr_in at;
	socklen_t len = sizeof(at);
	assert_int_equal(getsockname(p->listener, (struct sockaddr *)&at, &len), 0);
	p->port = ntohs(at.sin_port);
	pthread_mutex_init(&p->mutex, NULL);
	pthread_cond_init(&p->applied, NULL);
	assert_int_equal(pthread_create(&p->thread, NULL, run_proxy, p), 0);
	return p;
}

/* With the mutex held. */
static void wait_until_applied(struct tcp_proxy *p)
{
	uint64_t mine = ++p->requested;
	while (p->done < mine)
		pthread_cond_wait(&p->applied, &p->mutex);
}

void tcp_proxy_set_mode(struct tcp_proxy *p, enum tcp_proxy_mode mode)
{
	pthread_mutex_lock(&p->mutex);
	p->mode = mode;
	wait_until_applied(p);
	pthread_mutex_unlock(&p->mutex);
}

void tcp_proxy_cut(struct tcp_proxy *p)
{
	pthread_mutex_lock(&p->mutex);
	p->cut = true;
	wait_until_applied(p);
	pthread_mutex_unlock(&p->mutex);
}

void tcp_proxy_free(struct tcp_proxy *p)
{
	pthread_mutex_lock(&p->mutex);
	p->mode = TCP_PROXY_REFUSE;
	p->closing = true;
	pthread_mutex_unlock(&p->mutex);
	pthread_join(p->thread, NULL);
	pthread_cond_destroy(&p->applied);
	pthread_mutex_destroy(&p->mutex);
	free(p);
}

void tcp_proxy_set_target(struct tcp_proxy *p, uint16_t port)
{
	atomic_store(&p->server_port, port);
}

uint16_t tcp_proxy_port(const struct tcp_proxy *p)
{
	return p->port;
}

uint64_t tcp_proxy_accepted(const struct tcp_proxy *p)
{
	return atomic_load(&p->accepted);
}
