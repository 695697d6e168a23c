/*
 * One thread at a time. A visitor of the chaos tests: one keep-alive connection to the redirector, non-blocking,
 * watched by the owner's epoll. Requests are small and answers are read over, so neither is ever split by us.
 */
#ifndef WAYMARK_TESTS_CHAOS_VISITOR_H
#define WAYMARK_TESTS_CHAOS_VISITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum visitor_state {
	VISITOR_AWAY,   /* no connection */
	VISITOR_COMING, /* connecting */
	VISITOR_IDLE,
	VISITOR_WAITING, /* for the answer to a request */
};

struct visitor {
	enum visitor_state state;
	int fd;
	int64_t since_us; /* of the connection, or of going away */
	uint64_t number;  /* of the request */
	int64_t due_us;   /* of the request */
	unsigned status;  /* of the answer */
	size_t body_left;
	bool closes;
	bool head_is_over;
	size_t have;
	char head[2048];
};

enum visitor_news {
	VISITOR_NOTHING,
	VISITOR_ARRIVED,  /* COMING → IDLE */
	VISITOR_ANSWERED, /* WAITING → IDLE, or AWAY if the answer ended the connection */
	VISITOR_LEFT,     /* → AWAY, by the other side */
};

/* AWAY → COMING, or AWAY again: refused at once. */
void visitor_come(struct visitor *v, int epoll, uint16_t port, int64_t now_us);

/* IDLE → WAITING. */
void visitor_ask(struct visitor *v, const char *slug, const char *run, uint64_t number, int64_t due_us);

/* IDLE: one byte of something that may become a request. */
void visitor_drip(struct visitor *v, char byte);

/* After epoll has reported it. */
enum visitor_news visitor_look(struct visitor *v, int64_t now_us);

void visitor_leave(struct visitor *v, int64_t now_us);

#endif
