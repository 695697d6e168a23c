#include "lib/http/http_half_close.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include "lib/http/http_internal.h"

#define EVENTS_MAX 64

static void control(struct http_loop *loop, int operation, struct http_connection *c)
{
	struct epoll_event event = { .events = EPOLLRDHUP | EPOLLET, .data.ptr = c };
	if (epoll_ctl(loop->half_close_fd, operation, c->fd, &event) != 0)
		log_debug(loop->shared->config.log, "http_half_close_failed");
}

void http_half_close_watch(struct http_loop *loop, struct http_connection *c)
{
	c->is_half_closed = false;
	control(loop, EPOLL_CTL_ADD, c);
}

void http_half_close_forget(struct http_loop *loop, struct http_connection *c)
{
	control(loop, EPOLL_CTL_DEL, c);
}

void http_half_close_recheck(struct http_loop *loop, struct http_connection *c)
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
		http_half_close_recheck(loop, c);
	else
		shutdown(c->fd, SHUT_RD);
}

void http_half_close_run(struct http_loop *loop)
{
	struct epoll_event events[EVENTS_MAX];
	int count = epoll_wait(loop->half_close_fd, events, EVENTS_MAX, 0);
	for (int i = 0; i < count; i++)
		end_input(loop, events[i].data.ptr);
}
