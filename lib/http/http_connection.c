#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <utlist.h>

#include "lib/base/mem.h"
#include "lib/http/http_internal.h"

struct http_connection *http_connection_new(struct http_loop *loop, size_t body_bytes_max)
{
	struct http_connection *c = mem_zero(sizeof(*c));
	atomic_init(&c->ref_count, 2);
	http_exchange_init(&c->exchange, loop, body_bytes_max);
	return c;
}

void http_connection_free(struct http_connection *c)
{
	http_exchange_clear(&c->exchange);
	free(c);
}

struct http_connection *http_connection_of(const struct http_exchange *x)
{
	return (struct http_connection *)(void *)((char *)x -
	                                          offsetof(struct http_connection, exchange));
}

void http_connection_unref(struct http_connection *c)
{
	if (atomic_fetch_sub(&c->ref_count, 1) == 1)
		http_connection_free(c);
}

void http_connection_move(struct http_connection *c, struct http_connection_list *list,
                          int64_t now_us)
{
	if (c->list != NULL)
		DL_DELETE2(c->list->first, c, previous, next);
	c->list = list;
	c->since_us = now_us;
	if (list != NULL)
		DL_APPEND2(list->first, c, previous, next);
}

struct http_connection *http_connection_oldest(const struct http_connection_list *list,
                                               int64_t since_us)
{
	return list->first != NULL && list->first->since_us <= since_us ? list->first : NULL;
}

void http_connection_cut(struct http_connection *c)
{
	shutdown(c->fd, SHUT_RDWR);
}

bool http_connection_has_input(const struct http_connection *c)
{
	char byte;
	return recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

uint64_t http_connection_acked_bytes(const struct http_connection *c)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);
	return getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 ? info.tcpi_bytes_acked
	                                                                  : 0;
}
