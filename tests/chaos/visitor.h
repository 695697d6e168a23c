/*
 * A visitor of the chaos tests: one keep-alive connection to a redirector. It is non-blocking and
 * belongs to its owner's epoll. Each request fits into one send, and only the heads of answers are
 * kept. One thread at a time.
 */
#ifndef WAYMARK_TESTS_CHAOS_VISITOR_H
#define WAYMARK_TESTS_CHAOS_VISITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum visitor_state {
	VISITOR_CLOSED, /* there is no connection */
	VISITOR_CONNECTING,
	VISITOR_IDLE,
	VISITOR_WAITING, /* for the answer to a request */
};

struct visitor {
	enum visitor_state state;
	int fd;
	/* When the connection was opened or closed. */
	int64_t since_us;
	/* Of the request. */
	uint64_t number;
	/* When the request was due. */
	int64_t due_us;
	/* When it was sent. */
	int64_t asked_us;
	/* Of the answer. */
	unsigned status;
	size_t body_left;
	bool closes;
	bool head_is_over;
	size_t have;
	char head[2048];
};

enum visitor_event {
	VISITOR_NOTHING,
	VISITOR_CONNECTED,    /* CONNECTING → IDLE */
	VISITOR_ANSWERED,     /* WAITING → IDLE, or CLOSED if the answer ended the connection */
	VISITOR_DISCONNECTED, /* → CLOSED, by the other side */
};

/* CLOSED → CONNECTING, or still CLOSED if the connection is refused at once. */
void visitor_connect(struct visitor *v, int epoll, uint16_t port, int64_t now_us);

/* IDLE → WAITING. */
void visitor_ask(struct visitor *v, const char *slug, const char *run, uint64_t number,
                 int64_t due_us, int64_t now_us);

/* IDLE: sends one byte of a request that never ends. */
void visitor_drip(struct visitor *v, char byte);

/* Reads what epoll has reported and returns what happened. */
enum visitor_event visitor_update(struct visitor *v, int64_t now_us);

void visitor_close(struct visitor *v, int64_t now_us);

#endif
