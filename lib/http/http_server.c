#include "lib/http/http_server.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "lib/http/http_guard.h"
#include "lib/http/http_internal.h"

#define BACKLOG 1024
#define HEAD_BYTES_MAX 8192
#define TARGET_BYTES_MAX 4096
#define SEND_CHECK_MS 20000
#define SEND_BYTES_MIN 10000

struct http_server {
	struct http_shared shared;
	uint16_t port;
	size_t loop_count;
	struct http_loop *loops;
};

/* --- listening sockets, one for each loop --- */

static_assert(offsetof(struct sockaddr_in6, sin6_port) == offsetof(struct sockaddr_in, sin_port),
              "port_of");

union endpoint {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* address "": all. */
static enum err endpoint_of(const char *address, uint16_t port, bool ipv6, union endpoint *out)
{
	*out = (union endpoint){ .v6 = { .sin6_family = AF_INET6,
		                         .sin6_port = htons(port),
		                         .sin6_addr = in6addr_any } };
	if (address[0] ? inet_pton(AF_INET6, address, &out->v6.sin6_addr) == 1 : ipv6)
		return OK;
	*out = (union endpoint){ .v4 = { .sin_family = AF_INET, .sin_port = htons(port) } };
	return !address[0] || inet_pton(AF_INET, address, &out->v4.sin_addr) == 1 ? OK
	                                                                          : ERR_INVALID;
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
static int bind_one(const union endpoint *endpoint, bool shared, int64_t idle_ms)
{
	int fd = socket(endpoint->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	bool ready = set(fd, SOL_SOCKET, SO_REUSEADDR, 1) &&
	             (!shared || set(fd, SOL_SOCKET, SO_REUSEPORT, 1));
	if (endpoint->any.sa_family == AF_INET6)
		ready = set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0) && ready;
	/* accepted sockets inherit this one */
	ready = set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)idle_ms) && ready;
	if (ready && bind(fd, &endpoint->any, sizeof(*endpoint)) == 0)
		return fd;
	return close_keeping_errno(fd);
}

static uint16_t port_of(int fd)
{
	union endpoint bound = { 0 }; /* both families have the port at the same offset */
	socklen_t len = sizeof(bound);
	return getsockname(fd, &bound.any, &len) == 0 ? ntohs(bound.v6.sin6_port) : 0;
}

static const char *address_of(const struct http_server_config *config)
{
	return config->address ? config->address : "";
}

/* The first socket binds alone, so that it fails if the port is taken. Then it shares the port. */
static int open_one(const struct http_server_config *config, bool ipv6, bool first, uint16_t *port)
{
	union endpoint endpoint;
	if (endpoint_of(address_of(config), *port, ipv6, &endpoint) != OK) {
		errno = EINVAL;
		return -1;
	}
	int fd = bind_one(&endpoint, !first, config->idle_ms);
	if (fd < 0)
		return -1;
	if ((first && config->loops > 1 && !set(fd, SOL_SOCKET, SO_REUSEPORT, 1)) ||
	    listen(fd, BACKLOG) != 0)
		return close_keeping_errno(fd);
	*port = port_of(fd);
	return fd;
}

/* 0, or the errno of the first failure; nothing stays open then. */
static int open_all(const struct http_server_config *config, bool ipv6, int *fds, uint16_t *port)
{
	*port = config->port;
	for (size_t open = 0; open < config->loops; open++) {
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

enum err http_server_listen(const struct http_server_config *config, int *fds, uint16_t *port)
{
	uint16_t bound;
	int reason = open_all(config, true, fds, &bound);
	if (reason == EAFNOSUPPORT || reason == EADDRNOTAVAIL) /* a machine without IPv6 */
		reason = open_all(config, false, fds, &bound);
	if (reason != 0) {
		log_error(config->log, "http_listen_failed",
		          LOG_TEXT("address", address_of(config)[0] ? config->address : "*"),
		          LOG_INT("port", config->port),
		          LOG_TEXT("reason", strerrordesc_np(reason)));
		return ERR_UNAVAILABLE;
	}
	*port = bound;
	return OK;
}

/* --- the server --- */

static void register_metrics(struct http_metrics *m, struct metrics *metrics)
{
	static const char *const classes[HTTP_METRICS_CLASSES] = {
		NULL, NULL, "code=\"2xx\"", "code=\"3xx\"", "code=\"4xx\"", "code=\"5xx\"",
	};
	if (metrics == NULL)
		return;
	for (unsigned i = 2; i < HTTP_METRICS_CLASSES; i++)
		m->responses[i] =
			metrics_counter(metrics, "waymark_http_requests_total",
		                        "Responses sent, by class of status.", classes[i]);
	m->seconds = metrics_histogram(metrics, "waymark_http_request_seconds",
	                               "Time from the request line to the queued response.", NULL,
	                               metrics_latency_bounds, metrics_latency_bound_count);
	m->connections =
		metrics_gauge(metrics, "waymark_http_connections", "Open connections.", NULL);
	m->refused_connections =
		metrics_counter(metrics, "waymark_http_connections_refused_total",
	                        "Connections closed on accept because a limit was reached.", NULL);
	m->evicted =
		metrics_counter(metrics, "waymark_http_connections_evicted_total",
	                        "Idle or slow connections closed to make room for new ones.", NULL);
	m->late = metrics_counter(
		metrics, "waymark_http_connections_timed_out_total",
		"Connections closed because a request or its reader was too slow.", NULL);
	m->queued = metrics_gauge(metrics, "waymark_http_queued_requests",
	                          "Requests waiting for a worker.", NULL);
	m->overdue = metrics_counter(
		metrics, "waymark_http_overdue_requests_total",
		"Requests answered 503 because they waited too long for a worker.", NULL);
}

static void free_server(struct http_server *s)
{
	worker_pool_free(s->shared.workers);
	worker_pool_free(s->shared.heavy_workers);
	http_limit_clear(&s->shared);
	free(s->loops);
	free(s);
}

/* NULL: count is 0. */
static struct worker_pool *start_workers(const struct http_server *s, const char *name,
                                         size_t count)
{
	if (count == 0)
		return NULL;
	struct worker_pool *workers =
		worker_pool_new_fair(name, count, s->shared.config.worker_queue, (count + 1) / 2);
	worker_pool_set_queue_metric(workers, s->shared.metrics.queued);
	return workers;
}

static void stop_loops(struct http_server *s, int64_t drain_ms)
{
	atomic_store(&s->shared.drain_ms, drain_ms);
	atomic_store(&s->shared.is_draining, true);
	for (size_t i = 0; i < s->loop_count; i++)
		http_loop_wake(&s->loops[i]);
	for (size_t i = 0; i < s->loop_count; i++)
		http_loop_join(&s->loops[i]);
}

static enum err start_loops(struct http_server *s, const int *fds)
{
	size_t count = s->shared.config.loops;
	for (size_t i = 0; i < count; i++) {
		enum err err = http_loop_start(&s->loops[i], &s->shared, i, fds[i]);
		if (err != OK) {
			for (size_t rest = i + 1; rest < count; rest++)
				close(fds[rest]);
			return err;
		}
		s->loop_count++;
	}
	return OK;
}

bool http_server_is_address(const char *address)
{
	struct in6_addr parsed;
	return address[0] == '\0' || inet_pton(AF_INET, address, &parsed) == 1 ||
	       inet_pton(AF_INET6, address, &parsed) == 1;
}

size_t http_server_check_client_ip_header(const char *name, struct strbuf *problems)
{
	bool has_other_form = strcasecmp(name, "Forwarded") == 0;
	return env_expect(
		!has_other_form && http_guard_is_token(name, strlen(name)), "CLIENT_IP_HEADER",
		has_other_form ? "must hold addresses alone, which Forwarded does not: let "
				 "the proxy send X-Forwarded-For"
			       : "must be the name of one header, like X-Real-IP",
		problems);
}

enum err http_server_start(const struct http_server_config *config, struct http_server **out)
{
	int fds[HTTP_LOOPS_MAX] = { 0 };
	uint16_t port;
	enum err err = http_server_listen(config, fds, &port);
	if (err != OK)
		return err;

	struct http_server *s = mem_zero(sizeof(*s));
	s->shared.config = *config;
	if (config->head_bytes_max == 0)
		s->shared.config.head_bytes_max = HEAD_BYTES_MAX;
	if (config->target_bytes_max == 0)
		s->shared.config.target_bytes_max = TARGET_BYTES_MAX;
	if (config->send_check_ms == 0)
		s->shared.config.send_check_ms = SEND_CHECK_MS;
	if (config->client_ip_header == NULL || config->client_ip_header[0] == '\0')
		s->shared.config.client_ip_header = "X-Forwarded-For";
	if (config->send_bytes_min == 0)
		s->shared.config.send_bytes_min = SEND_BYTES_MIN;
	s->port = port;
	s->loops = mem_array(config->loops, sizeof(*s->loops));
	http_limit_init(&s->shared);
	register_metrics(&s->shared.metrics, config->metrics);
	s->shared.workers = start_workers(s, config->name, config->workers);
	s->shared.heavy_workers = start_workers(s, "heavy", config->heavy_workers);
	err = start_loops(s, fds);
	if (err != OK) {
		stop_loops(s, 0);
		free_server(s);
		return err;
	}
	log_info(config->log, "http_listening", LOG_TEXT("server", config->name),
	         LOG_INT("port", port));
	*out = s;
	return OK;
}

uint16_t http_server_port(const struct http_server *s)
{
	return s->port;
}

void http_server_enter_lame_duck(struct http_server *s, int64_t notice_ms)
{
	atomic_store(&s->shared.is_lame_duck, true);
	struct timespec left = { .tv_sec = notice_ms / 1000,
		                 .tv_nsec = notice_ms % 1000 * 1000000 };
	while (nanosleep(&left, &left) != 0 && errno == EINTR) {
	}
}

void http_server_stop(struct http_server *s, int64_t drain_ms)
{
	if (s == NULL)
		return;
	stop_loops(s, drain_ms);
	free_server(s);
}
