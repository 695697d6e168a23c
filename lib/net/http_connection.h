/*
 * One thread at a time. Private to the http_* files: what we remember of a connection, and in which order connections
 * run out of time. Each list has one time limit for all of its members, so it is ordered by time if members are
 * always put at its end.
 */
#ifndef WAYMARK_LIB_NET_HTTP_CONNECTION_H
#define WAYMARK_LIB_NET_HTTP_CONNECTION_H

#include "lib/net/http_exchange.h"

struct http_connection_list {
	struct http_connection *first, *last;
};

struct http_connection {
	struct http_connection *previous, *next;
	struct http_connection_list *list;
	int64_t since_us; /* steady time at which it came into its list */
	int fd;
	bool lingers; /* the peer may still be sending when this connection ends; see http_linger.h */
	_Atomic int
		holders; /* of an abandoned one: the loop until the end of the connection, and who is to resume it */
	struct http_exchange exchange;
};

struct http_connection *http_connection_new(struct http_loop *loop, size_t body_bytes_max);
void http_connection_free(struct http_connection *c);

struct http_connection *http_connection_of(struct http_exchange *x);

/* Safe from any thread. Each of the holders of an abandoned one; the last one frees it. */
void http_connection_give_up(struct http_connection *c);

/* Takes c out of its list and puts it at the end of list; NULL: of none. */
void http_connection_move(struct http_connection *c, struct http_connection_list *list, int64_t now_us);

/* The oldest of a list if it came at or before since_us, else NULL. */
struct http_connection *http_connection_oldest(const struct http_connection_list *list, int64_t since_us);

/* Tells the peer that it is over; the library finds out and closes. */
void http_connection_cut(struct http_connection *c);

/* Whether bytes have arrived that nobody has read yet. */
bool http_connection_has_input(const struct http_connection *c);

#endif
