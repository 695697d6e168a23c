#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/http/http_internal.h"

/* How many of the oldest connections of a list are asked for unread input. */
#define CANDIDATES_MAX 8
#define EVENTS_MAX 64
#define LINGER_MS 2000

/* --- half-closed peers --- */

static void control(struct http_loop *loop, int operation, struct http_connection *c)
{
	struct epoll_event event = { .events = EPOLLRDHUP | EPOLLET, .data.ptr = c };
	if (epoll_ctl(loop->half_close_fd, operation, c->fd, &event) != 0)
		log_debug(loop->shared->config.log, "http_half_close_failed");
}

void http_expiry_watch(struct http_loop *loop, struct http_connection *c)
{
	c->is_half_closed = false;
	control(loop, EPOLL_CTL_ADD, c);
}

void http_expiry_watch_again(struct http_loop *loop, struct http_connection *c)
{
	control(loop, EPOLL_CTL_MOD, c);
}

/* A connection with a complete request is looked at again when its response is sent. */
static void end_input(struct http_loop *loop, struct http_connection *c)
{
	c->is_half_closed = true;
	if (c->list != &loop->receiving && c->list != &loop->idle)
		return;
	if (http_connection_has_input(c))
		http_expiry_watch_again(loop, c);
	else
		shutdown(c->fd, SHUT_RD);
}

void http_expiry_end_half_closed(struct http_loop *loop)
{
	struct epoll_event events[EVENTS_MAX];
	int count = epoll_wait(loop->half_close_fd, events, EVENTS_MAX, 0);
	for (int i = 0; i < count; i++)
		end_input(loop, events[i].data.ptr);
}

/* --- sockets that linger --- */

void http_expiry_linger(struct http_loop *loop, struct http_connection *c)
{
	struct http_linger *linger = &loop->linger;
	/* Closing the last descriptor would be enough, but the socket is duplicated. */
	control(loop, EPOLL_CTL_DEL, c);
	int copy = linger->count < HTTP_LINGER_MAX ? fcntl(c->fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (copy < 0)
		return;
	shutdown(copy, SHUT_WR);
	linger->fds[linger->count] = copy;
	linger->until_us[linger->count++] = loop->now_us + LINGER_MS * CLOCK_US_PER_MS;
}

size_t http_expiry_poll_entries(const struct http_loop *loop, struct pollfd *entries)
{
	for (size_t i = 0; i < loop->linger.count; i++)
		entries[i] = (struct pollfd){ .fd = loop->linger.fds[i], .events = POLLIN };
	return loop->linger.count;
}

static bool has_ended(int fd)
{
	char sink[16384];
	for (unsigned i = 0; i < 16; i++) {
		ssize_t got = recv(fd, sink, sizeof(sink), MSG_DONTWAIT);
		if (got <= 0)
			return got == 0 || (errno != EAGAIN && errno != EINTR);
	}
	return false;
}

/* Discards input; closes sockets that have ended or whose time is over. */
static void run_linger(struct http_linger *linger, int64_t now_us)
{
	for (size_t i = 0; i < linger->count;) {
		if (!has_ended(linger->fds[i]) && now_us < linger->until_us[i]) {
			i++;
			continue;
		}
		close(linger->fds[i]);
		linger->count--;
		linger->fds[i] = linger->fds[linger->count];
		linger->until_us[i] = linger->until_us[linger->count];
	}
}

void http_expiry_close_lingering(struct http_loop *loop)
{
	while (loop->linger.count > 0)
		close(loop->linger.fds[--loop->linger.count]);
}

/* --- deadlines --- */

static void cut(struct http_loop *loop, struct http_connection *c, struct metric *reason)
{
	metrics_add(reason, 1);
	http_connection_move(c, &loop->busy, loop->now_us);
	http_connection_cut(c);
}

/*
 * A reset drops what the reader has not taken. Otherwise the kernel keeps it, up to megabytes for
 * each reader, until it is read.
 */
static void cut_reader(struct http_loop *loop, struct http_connection *c, struct metric *reason)
{
	static const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	if (setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) != 0)
		log_debug(loop->shared->config.log, "http_linger_failed");
	cut(loop, c, reason);
}

static void expire_requests(struct http_loop *loop)
{
	const struct http_server_config *config = &loop->shared->config;
	int64_t oldest_us = loop->now_us - config->header_deadline_ms * CLOCK_US_PER_MS;
	struct http_connection *c;
	while ((c = http_connection_oldest(&loop->receiving, oldest_us)) != NULL) {
		if (c->exchange.is_begun)
			http_request_reject_on_socket(c, 408,
			                              "The request did not arrive in time.");
		cut(loop, c, loop->shared->metrics.late);
	}
}

/* A reader passes if its system has acknowledged enough bytes since the last check. */
static void check_readers(struct http_loop *loop)
{
	const struct http_server_config *config = &loop->shared->config;
	int64_t oldest_us = loop->now_us - config->send_check_ms * CLOCK_US_PER_MS;
	struct http_connection *c;
	while ((c = http_connection_oldest(&loop->sending, oldest_us)) != NULL) {
		uint64_t acked = http_connection_acked_bytes(c);
		bool is_slow = c->is_measured && acked - c->acked_bytes < config->send_bytes_min;
		c->is_measured = true;
		c->acked_bytes = acked;
		if (is_slow)
			cut_reader(loop, c, loop->shared->metrics.late);
		else
			http_connection_move(c, &loop->sending, loop->now_us);
	}
}

void http_expiry_run(struct http_loop *loop)
{
	int64_t oldest_us = loop->now_us - loop->shared->config.idle_ms * CLOCK_US_PER_MS;
	struct http_connection *c;
	expire_requests(loop);
	check_readers(loop);
	while ((c = http_connection_oldest(&loop->idle, oldest_us)) != NULL)
		cut(loop, c, NULL);
	while ((c = http_connection_oldest(&loop->streaming, oldest_us)) != NULL)
		cut_reader(loop, c, loop->shared->metrics.late);
	run_linger(&loop->linger, loop->now_us);
}

static int64_t min_us(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t deadline_of(const struct http_connection_list *list, int64_t limit_ms)
{
	return list->first == NULL ? INT64_MAX : list->first->since_us + limit_ms * CLOCK_US_PER_MS;
}

int64_t http_expiry_deadline(const struct http_loop *loop)
{
	const struct http_server_config *config = &loop->shared->config;
	int64_t first_us = deadline_of(&loop->receiving, config->header_deadline_ms);
	first_us = min_us(first_us, deadline_of(&loop->sending, config->send_check_ms));
	first_us = min_us(first_us, deadline_of(&loop->idle, config->idle_ms));
	for (size_t i = 0; i < loop->linger.count; i++)
		first_us = min_us(first_us, loop->linger.until_us[i]);
	return min_us(first_us, deadline_of(&loop->streaming, config->idle_ms));
}

/* NULL: each of the oldest has input that the library is about to read. */
static struct http_connection *oldest_without_input(const struct http_connection_list *list)
{
	struct http_connection *c = list->first;
	for (unsigned i = 0; c != NULL && i < CANDIDATES_MAX; i++, c = c->next)
		if (!http_connection_has_input(c))
			return c;
	return NULL;
}

/*
 * An idle client loses nothing. Otherwise the slowest client has to go, be it slow with its request
 * or with its response.
 */
bool http_expiry_evict_one(struct http_loop *loop)
{
	struct http_connection *slowest = oldest_without_input(&loop->idle);
	if (slowest == NULL) {
		struct http_connection *reader = loop->sending.first;
		slowest = oldest_without_input(&loop->receiving);
		if (slowest == NULL || (reader != NULL && reader->since_us < slowest->since_us))
			slowest = reader;
	}
	if (slowest == NULL)
		return false;
	if (slowest->list == &loop->sending)
		cut_reader(loop, slowest, loop->shared->metrics.evicted);
	else
		cut(loop, slowest, loop->shared->metrics.evicted);
	return true;
}
