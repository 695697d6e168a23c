#include "lib/http/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "lib/http/http_internal.h"
#include "lib/http/http_listener.h"

#define LOOPS_MAX 64
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
	http_body_budget_free(s->shared.bodies);
	http_connection_limit_free(s->shared.limit);
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

static enum err start_loops(struct http_server *s, const int *fds, size_t count)
{
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

enum err http_server_start(const struct http_server_config *config, struct http_server **out)
{
	size_t loops = config->loops < 1           ? 1
	               : config->loops > LOOPS_MAX ? LOOPS_MAX
	                                           : config->loops;
	int fds[LOOPS_MAX];
	uint16_t port;
	bool is_set = config->address && config->address[0] != '\0';
	struct http_listener_config listener = { .address = is_set ? config->address : NULL,
		                                 .port = config->port,
		                                 .count = loops,
		                                 .stalled_ms = config->idle_ms,
		                                 .log = config->log };
	enum err err = http_listener_open(&listener, fds, &port);
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
	if (config->send_bytes_min == 0)
		s->shared.config.send_bytes_min = SEND_BYTES_MIN;
	s->port = port;
	s->loops = mem_array(loops, sizeof(*s->loops));
	s->shared.limit = http_connection_limit_new(config->connections, config->connections_per_ip,
	                                            config->trusted);
	s->shared.bodies = http_body_budget_new(config->bodies_bytes_max);
	register_metrics(&s->shared.metrics, config->metrics);
	s->shared.workers = start_workers(s, config->name, config->workers);
	s->shared.heavy_workers = start_workers(s, "heavy", config->heavy_workers);
	err = start_loops(s, fds, loops);
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
