#include <sys/socket.h>

#include "lib/http/http_internal.h"

/* How many of the oldest connections of a list are asked for unread input. */
#define CANDIDATES_MAX 8

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
