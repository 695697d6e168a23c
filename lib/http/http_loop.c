#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/base/thread.h"
#include "lib/http/http_guard.h"
#include "lib/http/http_internal.h"

/* Keeps the library's ceiling above ours: it leaves connections over its own waiting. */
#define CONNECTION_SLACK 32
/* The longest sleep, so the loop notices a clock that was changed by hand. */
#define TURN_MS_MAX 1000
/*
 * The longest sleep while exchanges are polled. The library then always reports work, and cannot
 * tell whether it has other work, such as a pipelined request.
 */
#define POLLED_TURN_MS_MAX 1

static struct http_connection *connection_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
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
		memcpy(ip.bytes, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr,
		       16);
		ip.known = true;
	} else if (address->sa_family == AF_INET) {
		ip.bytes[10] = ip.bytes[11] = 0xff;
		memcpy(ip.bytes + 12,
		       &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
		ip.known = true;
	}
	return ip;
}

static enum MHD_Result on_accept(void *arg, const struct sockaddr *address, socklen_t len)
{
	(void)len;
	struct http_loop *loop = arg;
	struct client_ip peer = ip_of(address);
	enum http_limit_decision decision = http_limit_decide(loop->shared, &peer);
	if (decision == HTTP_LIMIT_ALLOWED ||
	    (decision == HTTP_LIMIT_NEEDS_ROOM && http_expiry_evict_one(loop)))
		return MHD_YES;
	metrics_add(loop->shared->metrics.refused_connections, 1);
	return MHD_NO;
}

static void open_connection(struct http_loop *loop, struct MHD_Connection *mhd, void **context)
{
	struct http_connection *c = loop->spare;
	if (c != NULL)
		loop->spare = c->next;
	else
		c = http_connection_new(loop, loop->shared->config.body_bytes_max);
	c->next = NULL;
	c->fd = fd_of(mhd);
	c->lingers = false;
	c->exchange.peer = ip_of(
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr);
	*context = c;
	loop->open++;
	http_limit_count(loop->shared, &c->exchange.peer, 1);
	metrics_add(loop->shared->metrics.connections, 1);
	http_expiry_watch(loop, c);
	http_connection_move(c, &loop->receiving, clock_steady_us(loop->shared->config.clock));
}

static void close_connection(struct http_loop *loop, struct http_connection *c)
{
	if (c->lingers)
		http_expiry_linger(loop, c);
	http_connection_move(c, NULL, 0);
	loop->open--;
	http_limit_count(loop->shared, &c->exchange.peer, -1);
	metrics_add(loop->shared->metrics.connections, -1);
	if (http_exchange_is_abandoned(&c->exchange)) {
		http_connection_unref(c);
		return;
	}
	c->next = loop->spare;
	loop->spare = c;
}

static void on_connection(void *arg, struct MHD_Connection *mhd, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		open_connection(arg, mhd, context);
	else
		close_connection(arg, *context);
}

static void *on_request_line(void *arg, const char *target, struct MHD_Connection *mhd)
{
	struct http_loop *loop = arg;
	struct http_connection *c = connection_of(mhd);
	http_exchange_begin(&c->exchange, mhd, target);
	if (c->list == &loop->idle)
		http_connection_move(c, &loop->receiving, c->exchange.arrived_steady_us);
	http_guard_skip_parsing(mhd, target, c->exchange.target_len);
	if (c->exchange.target_len > loop->shared->config.target_bytes_max) {
		http_request_reject_on_socket(c, MHD_HTTP_URI_TOO_LONG,
		                              "The request's target is too long.");
		shutdown(c->fd, SHUT_WR);
	}
	return c;
}

static enum MHD_Result on_access(void *arg, struct MHD_Connection *mhd, const char *url,
                                 const char *method, const char *version, const char *upload,
                                 size_t *upload_len, void **context)
{
	(void)arg;
	(void)mhd;
	return http_request_advance(*context, url, method, version, upload, upload_len) ? MHD_YES
	                                                                                : MHD_NO;
}

static void on_completed(void *arg, struct MHD_Connection *mhd, void **context,
                         enum MHD_RequestTerminationCode how)
{
	(void)mhd;
	(void)how;
	struct http_loop *loop = arg;
	struct http_connection *c = *context;
	http_exchange_end(&c->exchange);
	http_connection_move(c, &loop->idle, loop->now_us);
	if (c->is_half_closed)
		http_expiry_watch_again(loop, c);
}

/* The unescape callback: paths and queries stay raw. */
static size_t keep_raw(void *arg, struct MHD_Connection *mhd, char *text)
{
	(void)arg;
	(void)mhd;
	return strlen(text);
}

/*
 * Finds the connection whose complete head the library is checking now and has not passed to us. A
 * head that the library rejected before its end has no size; the library answers that one itself.
 */
static struct http_connection *find_unreported_head(struct http_loop *loop)
{
	for (struct http_connection *c = loop->receiving.first; c != NULL; c = c->next) {
		if (!c->exchange.is_begun || c->exchange.is_checked || c->exchange.is_rejected)
			continue;
		const union MHD_ConnectionInfo *info = MHD_get_connection_info(
			c->exchange.mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
		if (info != NULL && info->header_size > 0)
			return c;
	}
	return NULL;
}

/*
 * The library rejects some complete heads before it calls us (a malformed Content-Length, cookies
 * that do not fit), and 0.9.75 sends the head of that response twice. Only its log message arrives
 * in time: we write the response instead, and shut the socket for writing.
 */
static void on_library_message(void *arg, const char *format, va_list values)
{
	if (strncmp(format, "Error processing request (HTTP response code is %u", 50) != 0)
		return;
	struct http_connection *c = find_unreported_head(arg);
	if (c == NULL)
		return;
	http_request_reject_on_socket(c, va_arg(values, unsigned),
	                              "The request's headers are malformed.");
	shutdown(c->fd, SHUT_WR);
}

/* 1.0 unfolds lines and takes bare LFs unless it is strict. 0.9 leaves them to http_guard. */
#define STRICTNESS (MHD_VERSION >= 0x01000000 ? 1 : 0)

static struct MHD_Daemon *start_daemon(struct http_loop *loop)
{
	const struct http_server_config *config = &loop->shared->config;
	unsigned connections = (unsigned)config->connections + CONNECTION_SLACK;
	return MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, on_accept, loop,
		on_access, loop, MHD_OPTION_EXTERNAL_LOGGER, on_library_message, loop,
		MHD_OPTION_LISTEN_SOCKET, loop->listen_fd, MHD_OPTION_CONNECTION_LIMIT, connections,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, http_response_memory(config),
		MHD_OPTION_CONNECTION_TIMEOUT, 0U, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
		loop, MHD_OPTION_URI_LOG_CALLBACK, on_request_line, loop,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, loop, MHD_OPTION_UNESCAPE_CALLBACK,
		keep_raw, NULL, MHD_OPTION_STRICT_FOR_CLIENT, STRICTNESS, MHD_OPTION_END);
}

/* Cuts the connections of a list that have no request and no unread input. */
static void cut_without_input(struct http_connection_list *list)
{
	for (struct http_connection *c = list->first; c != NULL; c = c->next)
		if (!c->exchange.is_begun && !http_connection_has_input(c))
			http_connection_cut(c);
}

static void cut_all(struct http_connection_list *list)
{
	for (struct http_connection *c = list->first; c != NULL; c = c->next)
		http_connection_cut(c);
}

/* Accepts what the kernel completed before the port closes, so no peer is reset. */
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
	if (!loop->is_draining) {
		loop->is_draining = true;
		loop->drain_until_us =
			loop->now_us + atomic_load(&loop->shared->drain_ms) * CLOCK_US_PER_MS;
		stop_listening(loop);
		cut_without_input(&loop->receiving);
		cut_without_input(&loop->idle);
	}
	if (loop->now_us >= loop->drain_until_us) {
		atomic_store(&loop->shared->drain_expired, true);
		cut_all(&loop->receiving);
		cut_all(&loop->idle);
		cut_all(&loop->busy);
		cut_all(&loop->sending);
		cut_all(&loop->streaming);
	}
}

static int64_t min_us(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int sleep_ms(const struct http_loop *loop)
{
	const struct http_server_config *config = &loop->shared->config;
	MHD_UNSIGNED_LONG_LONG library_ms;
	bool has_work = MHD_get_timeout(loop->daemon, &library_ms) == MHD_YES && library_ms == 0;
	if (has_work && loop->polled_count == 0)
		return 0;
	int64_t until_us = http_expiry_deadline(loop);
	if (loop->is_draining)
		until_us = min_us(until_us, loop->drain_until_us);
	if (config->loop_hook != NULL)
		until_us = min_us(until_us, config->loop_hook->deadline_us(loop->hook_state));
	if (until_us <= loop->now_us)
		return loop->is_draining ? 10 : 0;
	int64_t ms = (until_us - loop->now_us) / CLOCK_US_PER_MS + 1;
	return (int)min_us(ms, has_work ? POLLED_TURN_MS_MAX : TURN_MS_MAX);
}

static bool has_input(const struct pollfd *entry)
{
	return (entry->revents & (POLLIN | POLLERR | POLLHUP)) != 0;
}

/* True: some peers have sent FIN. */
static bool wait_for_events(struct http_loop *loop)
{
	const struct http_loop_hook *hook = loop->shared->config.loop_hook;
	struct pollfd entries[4 + HTTP_LINGER_MAX] = {
		{ .fd = MHD_get_daemon_info(loop->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
		  .events = POLLIN },
		{ .fd = loop->wake_fd, .events = POLLIN },
		{ .fd = -1 },
		{ .fd = loop->half_close_fd, .events = POLLIN },
	};
	if (hook != NULL)
		entries[2].fd = hook->descriptor(loop->hook_state, &entries[2].events);
	size_t count = 4 + http_expiry_poll_entries(loop, entries + 4);
	poll(entries, count, sleep_ms(loop));
	if (entries[1].revents & POLLIN) {
		uint64_t wakes;
		if (read(loop->wake_fd, &wakes, sizeof(wakes)) < 0)
			log_debug(loop->shared->config.log, "http_wakeup_read_failed");
		/*
		 * Cleared after the read: otherwise this read could consume a later wake-up while
		 * is_woken stays set, and no thread would write again. Cleared before the work is
		 * looked at, so a thread that still finds it set has published its work in time.
		 */
		atomic_store(&loop->is_woken, false);
	}
	if (hook != NULL)
		hook->before_requests(loop->hook_state, has_input(&entries[2]));
	return has_input(&entries[3]);
}

static void read_clock(struct http_loop *loop)
{
	const struct clock *clock = loop->shared->config.clock;
	loop->now_us = clock_steady_us(clock);
	loop->wall_ahead_us = clock_now_us(clock) - loop->now_us;
}

static void run_turn(struct http_loop *loop)
{
	bool has_half_closed = wait_for_events(loop);
	read_clock(loop);
	MHD_run(loop->daemon);
	if (has_half_closed)
		http_expiry_end_half_closed(loop);
	if (loop->shared->config.loop_hook != NULL)
		loop->shared->config.loop_hook->after_requests(loop->hook_state);
	http_expiry_run(loop);
	if (atomic_load_explicit(&loop->shared->is_draining, memory_order_relaxed))
		drain(loop);
}

static void *run_loop(void *arg)
{
	struct http_loop *loop = arg;
	const struct http_loop_hook *hook = loop->shared->config.loop_hook;
	thread_use_short_slices();
	if (hook != NULL)
		loop->hook_state = hook->start(hook->ctx);
	while (!loop->is_draining || loop->open > 0)
		run_turn(loop);
	if (hook != NULL)
		hook->stop(loop->hook_state);
	/* a thread that has just resumed the last exchange may still be waking the daemon */
	while (atomic_load(&loop->resumers) > 0)
		sched_yield();
	MHD_stop_daemon(loop->daemon);
	http_response_drop_kept(loop);
	return NULL;
}

static void close_own_fds(struct http_loop *loop)
{
	if (loop->wake_fd >= 0)
		close(loop->wake_fd);
	if (loop->half_close_fd >= 0)
		close(loop->half_close_fd);
}

enum err http_loop_start(struct http_loop *loop, struct http_shared *shared, size_t index,
                         int listen_fd)
{
	*loop = (struct http_loop){ .shared = shared, .index = index, .listen_fd = listen_fd };
	loop->now_us = clock_steady_us(shared->config.clock);
	http_request_id_init(&loop->ids);
	loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	loop->half_close_fd = epoll_create1(EPOLL_CLOEXEC);
	bool has_fds = loop->wake_fd >= 0 && loop->half_close_fd >= 0;
	loop->daemon = has_fds ? start_daemon(loop) : NULL;
	if (loop->daemon == NULL) {
		log_error(shared->config.log, "http_loop_failed",
		          LOG_TEXT("server", shared->config.name));
		close_own_fds(loop);
		close(listen_fd);
		return ERR_UNAVAILABLE;
	}
	char name[16];
	snprintf(name, sizeof(name), "%.10s-%u", shared->config.name, (unsigned)index % 1000);
	thread_spawn(&loop->thread, name, run_loop, loop);
	return OK;
}

void http_loop_wake(struct http_loop *loop)
{
	uint64_t one = 1;
	if (!atomic_exchange(&loop->is_woken, true) && write(loop->wake_fd, &one, sizeof(one)) < 0)
		log_debug(loop->shared->config.log, "http_wakeup_write_failed");
}

void http_loop_join(struct http_loop *loop)
{
	pthread_join(loop->thread, NULL);
	http_expiry_close_lingering(loop);
	while (loop->spare != NULL) {
		struct http_connection *c = loop->spare;
		loop->spare = c->next;
		http_connection_free(c);
	}
	close_own_fds(loop);
}
