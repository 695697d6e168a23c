#include "lib/net/http_loop.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/base/scheduling.h"
#include "lib/net/http_guard.h"
#include "lib/net/http_request.h"

/*
 * The library's memory for a connection holds the request's head, a record of 56 bytes for each header and each pair
 * of the query, and then the head of the answer. It is zeroed after each request: 32 KiB took a quarter of a
 * redirect's time.
 */
#define MEMORY_PER_HEAD_BYTE 2
#define MEMORY_FOR_ANSWER 2560
/* Room above our own ceiling, so that ours decides and not the library's, which would leave connections waiting. */
#define CONNECTION_SLACK 32
/* The longest sleep, so that a clock that was moved by hand is noticed. */
#define TURN_MS_MAX 1000
/*
 * The longest sleep while somebody is in line: the library then always says that it has work, and cannot say whether
 * there is other work than asking those in line again (a request that was sent together with the one before it).
 */
#define LINE_MS_MAX 1

static struct http_connection *connection_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	return info->socket_context;
}

static int fd_of(struct MHD_Connection *mhd)
{
	return MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static struct client_ip ip_of(const struct sockaddr *address)
{
	struct client_ip ip = { 0 };
	if (address->sa_family == AF_INET6) {
		memcpy(ip.bytes, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
		ip.known = true;
	} else if (address->sa_family == AF_INET) {
		ip.bytes[10] = ip.bytes[11] = 0xff;
		memcpy(ip.bytes + 12, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
		ip.known = true;
	}
	return ip;
}

static enum MHD_Result on_accept(void *arg, const struct sockaddr *address, socklen_t len)
{
	(void)len;
	struct http_loop *loop = arg;
	struct client_ip peer = ip_of(address);
	if (http_connection_limit_allows(loop->service->limit, &peer))
		return MHD_YES;
	metrics_add(loop->service->metrics.refused_connections, 1);
	return MHD_NO;
}

static void opened(struct http_loop *loop, struct MHD_Connection *mhd, void **context)
{
	struct http_connection *c = loop->spare;
	if (c != NULL)
		loop->spare = c->next;
	else
		c = http_connection_new(loop, loop->service->config.body_bytes_max);
	c->next = NULL;
	c->fd = fd_of(mhd);
	c->lingers = false;
	c->exchange.peer = ip_of(MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr);
	*context = c;
	loop->open++;
	http_connection_limit_opened(loop->service->limit, &c->exchange.peer);
	metrics_add(loop->service->metrics.connections, 1);
	http_connection_move(c, &loop->receiving, clock_steady_us(loop->service->config.clock));
}

static void closed(struct http_loop *loop, struct http_connection *c)
{
	if (c->lingers)
		http_linger_add(&loop->linger, c->fd, loop->now_us);
	http_connection_move(c, NULL, 0);
	loop->open--;
	http_connection_limit_closed(loop->service->limit, &c->exchange.peer);
	metrics_add(loop->service->metrics.connections, -1);
	if (http_exchange_is_abandoned(&c->exchange)) {
		http_connection_give_up(c);
		return;
	}
	c->next = loop->spare;
	loop->spare = c;
}

static void on_connection(void *arg, struct MHD_Connection *mhd, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		opened(arg, mhd, context);
	else
		closed(arg, *context);
}

static void *on_request_line(void *arg, const char *target, struct MHD_Connection *mhd)
{
	struct http_loop *loop = arg;
	struct http_connection *c = connection_of(mhd);
	http_exchange_begin(&c->exchange, mhd, target, loop->service->config.clock);
	if (c->list == &loop->idle)
		http_connection_move(c, &loop->receiving, c->exchange.arrived_steady_us);
	size_t max = loop->service->config.target_bytes_max;
	if (!http_guard_takes_target(c->exchange.target, c->exchange.target_len, max)) {
		http_request_refuse_on_socket(c, MHD_HTTP_URI_TOO_LONG, "The request's target is too long.");
		shutdown(c->fd, SHUT_WR);
	}
	return c;
}

static enum MHD_Result on_access(void *arg, struct MHD_Connection *mhd, const char *url, const char *method,
                                 const char *version, const char *upload, size_t *upload_len, void **context)
{
	(void)arg;
	(void)mhd;
	return http_request_advance(*context, url, method, version, upload, upload_len) ? MHD_YES : MHD_NO;
}

static void on_completed(void *arg, struct MHD_Connection *mhd, void **context, enum MHD_RequestTerminationCode how)
{
	(void)mhd;
	(void)how;
	struct http_loop *loop = arg;
	struct http_connection *c = *context;
	http_exchange_end(&c->exchange);
	http_connection_move(c, &loop->idle, loop->now_us);
}

/* Paths and queries are handed over raw. */
static size_t keep_escapes(void *arg, struct MHD_Connection *mhd, char *text)
{
	(void)arg;
	(void)mhd;
	return strlen(text);
}

/*
 * The connection whose head the library is judging right now: complete, but not handed over. One whose head the library
 * has refused half-way, and answers itself, has no size of a head.
 */
static struct http_connection *being_judged(struct http_loop *loop)
{
	for (struct http_connection *c = loop->receiving.first; c != NULL; c = c->next) {
		if (!c->exchange.begun || c->exchange.checked || c->exchange.refused)
			continue;
		const union MHD_ConnectionInfo *info =
			MHD_get_connection_info(c->exchange.mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
		if (info != NULL && info->header_size > 0)
			return c;
	}
	return NULL;
}

/*
 * What the library refuses itself while it judges a complete head (a malformed Content-Length, cookies that do not
 * fit), it refuses before any call of ours, and it sends the head of that answer twice (0.9.75). Only its log tells
 * us in time: we answer instead, and leave it nothing to write to.
 */
static void on_library_message(void *arg, const char *format, va_list values)
{
	if (strncmp(format, "Error processing request (HTTP response code is %u", 50) != 0)
		return;
	struct http_connection *c = being_judged(arg);
	if (c == NULL)
		return;
	http_request_refuse_on_socket(c, va_arg(values, unsigned), "The request's headers are malformed.");
	shutdown(c->fd, SHUT_WR);
}

static struct MHD_Daemon *start_daemon(struct http_loop *loop)
{
	const struct http_server_config *config = &loop->service->config;
	unsigned connections = (unsigned)config->connections + CONNECTION_SLACK;
	return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, on_accept, loop,
	                        on_access, loop, MHD_OPTION_EXTERNAL_LOGGER, on_library_message, loop,
	                        MHD_OPTION_LISTEN_SOCKET, loop->listen_fd, MHD_OPTION_CONNECTION_LIMIT, connections,
	                        MHD_OPTION_CONNECTION_MEMORY_LIMIT,
	                        config->head_bytes_max * MEMORY_PER_HEAD_BYTE + MEMORY_FOR_ANSWER,
	                        MHD_OPTION_CONNECTION_TIMEOUT, 0U, MHD_OPTION_NOTIFY_CONNECTION, on_connection, loop,
	                        MHD_OPTION_URI_LOG_CALLBACK, on_request_line, loop, MHD_OPTION_NOTIFY_COMPLETED,
	                        on_completed, loop, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_END);
}

/* Closes connections whose time is over; every list is ordered by time. */
static void expire(struct http_loop *loop)
{
	const struct http_server_config *config = &loop->service->config;
	int64_t oldest_us = loop->now_us - config->header_deadline_ms * CLOCK_US_PER_MS;
	struct http_connection *c;
	while ((c = http_connection_oldest(&loop->receiving, oldest_us)) != NULL) {
		metrics_add(loop->service->metrics.late, 1);
		if (c->exchange.begun)
			http_request_refuse_on_socket(c, MHD_HTTP_REQUEST_TIMEOUT,
			                              "The request did not arrive in time.");
		http_connection_move(c, &loop->busy, loop->now_us);
		http_connection_cut(c);
	}
	oldest_us = loop->now_us - config->idle_ms * CLOCK_US_PER_MS;
	while ((c = http_connection_oldest(&loop->idle, oldest_us)) != NULL) {
		http_connection_move(c, &loop->busy, loop->now_us);
		http_connection_cut(c);
	}
	while ((c = http_connection_oldest(&loop->streaming, oldest_us)) != NULL) {
		metrics_add(loop->service->metrics.late, 1);
		http_connection_move(c, &loop->busy, loop->now_us);
		http_connection_cut(c);
	}
}

/* Cuts the connections of a list whose peers have sent nothing that waits for an answer. */
static void cut_silent(struct http_connection_list *list)
{
	for (struct http_connection *c = list->first; c != NULL; c = c->next)
		if (!c->exchange.begun && !http_connection_has_input(c))
			http_connection_cut(c);
}

static void cut_all(struct http_connection_list *list)
{
	for (struct http_connection *c = list->first; c != NULL; c = c->next)
		http_connection_cut(c);
}

/* Connections that the kernel has completed are accepted before the door is shut, so that nobody is reset. */
static void stop_listening(struct http_loop *loop)
{
	struct pollfd listener = { .fd = loop->listen_fd, .events = POLLIN };
	for (unsigned turns = 0; turns < 1000 && poll(&listener, 1, 0) > 0; turns++)
		MHD_run(loop->daemon);
	MHD_socket fd = MHD_quiesce_daemon(loop->daemon);
	if (fd != MHD_INVALID_SOCKET)
		close(fd);
	MHD_run(loop->daemon);
}

static void drain(struct http_loop *loop)
{
	if (!loop->draining) {
		loop->draining = true;
		loop->drain_until_us = loop->now_us + atomic_load(&loop->service->drain_ms) * CLOCK_US_PER_MS;
		stop_listening(loop);
		cut_silent(&loop->receiving);
		cut_silent(&loop->idle);
	}
	if (loop->now_us >= loop->drain_until_us) {
		atomic_store(&loop->service->given_up, true);
		cut_all(&loop->receiving);
		cut_all(&loop->idle);
		cut_all(&loop->busy);
		cut_all(&loop->streaming);
	}
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int sleep_ms(const struct http_loop *loop)
{
	const struct http_server_config *config = &loop->service->config;
	MHD_UNSIGNED_LONG_LONG library_ms;
	bool has_work = MHD_get_timeout(loop->daemon, &library_ms) == MHD_YES && library_ms == 0;
	if (has_work && loop->in_line == 0)
		return 0;
	int64_t until_us = http_linger_deadline(&loop->linger);
	if (loop->receiving.first != NULL)
		until_us = earlier(until_us,
		                   loop->receiving.first->since_us + config->header_deadline_ms * CLOCK_US_PER_MS);
	if (loop->idle.first != NULL)
		until_us = earlier(until_us, loop->idle.first->since_us + config->idle_ms * CLOCK_US_PER_MS);
	if (loop->streaming.first != NULL)
		until_us = earlier(until_us, loop->streaming.first->since_us + config->idle_ms * CLOCK_US_PER_MS);
	if (loop->draining)
		until_us = earlier(until_us, loop->drain_until_us);
	if (config->guest != NULL)
		until_us = earlier(until_us, config->guest->deadline_us(loop->guest_state));
	if (until_us <= loop->now_us)
		return loop->draining ? 10 : 0;
	int64_t ms = (until_us - loop->now_us) / CLOCK_US_PER_MS + 1;
	return (int)earlier(ms, has_work ? LINE_MS_MAX : TURN_MS_MAX);
}

/* Whether the guest's descriptor has something to be read. */
static bool is_readable(const struct pollfd *entry)
{
	return (entry->revents & (POLLIN | POLLERR | POLLHUP)) != 0;
}

static void wait_for_events(struct http_loop *loop)
{
	const struct http_guest *guest = loop->service->config.guest;
	struct pollfd entries[3 + HTTP_LINGER_MAX] = {
		{ .fd = MHD_get_daemon_info(loop->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, .events = POLLIN },
		{ .fd = loop->wake_fd, .events = POLLIN },
		{ .fd = -1 },
	};
	if (guest != NULL)
		entries[2].fd = guest->descriptor(loop->guest_state, &entries[2].events);
	size_t count = 3 + http_linger_poll_entries(&loop->linger, entries + 3);
	poll(entries, count, sleep_ms(loop));
	if (entries[1].revents & POLLIN) {
		uint64_t wakes;
		if (read(loop->wake_fd, &wakes, sizeof(wakes)) < 0)
			log_debug(loop->service->config.log, "http_wake_was_empty");
		/*
		 * After the reading, or a wake in between would be read away and leave woken set: nobody would write
		 * again. Before what woke us is looked at, so that whoever finds it set now has come in time.
		 */
		atomic_store(&loop->woken, false);
	}
	if (guest != NULL)
		guest->receive(loop->guest_state, is_readable(&entries[2]));
}

static void turn(struct http_loop *loop)
{
	wait_for_events(loop);
	loop->now_us = clock_steady_us(loop->service->config.clock);
	MHD_run(loop->daemon);
	if (loop->service->config.guest != NULL)
		loop->service->config.guest->send(loop->guest_state);
	expire(loop);
	if (loop->linger.count > 0)
		http_linger_run(&loop->linger, loop->now_us);
	if (atomic_load_explicit(&loop->service->draining, memory_order_relaxed))
		drain(loop);
}

static void *run(void *arg)
{
	struct http_loop *loop = arg;
	const struct http_guest *guest = loop->service->config.guest;
	scheduling_take_short_turns();
	if (guest != NULL)
		loop->guest_state = guest->enter(guest->ctx);
	while (!loop->draining || loop->open > 0)
		turn(loop);
	if (guest != NULL)
		guest->leave(loop->guest_state);
	/* whoever has just resumed the last exchange may still be waking the daemon */
	while (atomic_load(&loop->resumers) > 0)
		sched_yield();
	MHD_stop_daemon(loop->daemon);
	return NULL;
}

enum err http_loop_start(struct http_loop *loop, struct http_service *service, size_t index, int listen_fd)
{
	*loop = (struct http_loop){ .service = service, .index = index, .listen_fd = listen_fd };
	loop->now_us = clock_steady_us(service->config.clock);
	http_request_id_init(&loop->ids);
	loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	loop->daemon = loop->wake_fd < 0 ? NULL : start_daemon(loop);
	if (loop->daemon == NULL) {
		log_error(service->config.log, "http_loop_failed", LOG_TEXT("server", service->config.name));
		if (loop->wake_fd >= 0)
			close(loop->wake_fd);
		close(listen_fd);
		return ERR_UNAVAILABLE;
	}
	if (pthread_create(&loop->thread, NULL, run, loop) != 0) {
		MHD_stop_daemon(loop->daemon);
		close(loop->wake_fd);
		return ERR_UNAVAILABLE;
	}
	char name[16];
	snprintf(name, sizeof(name), "%.10s-%u", service->config.name, (unsigned)index % 1000);
	pthread_setname_np(loop->thread, name);
	return OK;
}

void http_loop_wake(struct http_loop *loop)
{
	uint64_t one = 1;
	if (!atomic_exchange(&loop->woken, true) && write(loop->wake_fd, &one, sizeof(one)) < 0)
		log_debug(loop->service->config.log, "http_wake_was_full");
}

void http_loop_join(struct http_loop *loop)
{
	pthread_join(loop->thread, NULL);
	http_linger_close_all(&loop->linger);
	while (loop->spare != NULL) {
		struct http_connection *c = loop->spare;
		loop->spare = c->next;
		http_connection_free(c);
	}
	close(loop->wake_fd);
}
