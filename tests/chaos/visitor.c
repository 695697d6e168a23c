#include "tests/chaos/visitor.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define AGENT                                                                                      \
	"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"

void visitor_connect(struct visitor *v, int epoll, uint16_t port, int64_t now_us)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
		                             .sin_port = htons(port),
		                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct epoll_event interest = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		                        .data.ptr = v };
	int no_delay = 1;
	*v = (struct visitor){ .since_us = now_us };
	v->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (v->fd < 0 ||
	    setsockopt(v->fd, IPPROTO_TCP, TCP_NODELAY, &no_delay, sizeof(no_delay)) != 0) {
		perror("visitor: cannot make a socket");
		exit(EXIT_FAILURE);
	}
	v->state = VISITOR_CONNECTING;
	/*
	 * Added to epoll only now, because epoll reports a socket without a connection as hung up.
	 */
	if ((connect(v->fd, (const struct sockaddr *)&address, sizeof(address)) != 0 &&
	     errno != EINPROGRESS) ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, v->fd, &interest) != 0)
		visitor_close(v, now_us);
}

void visitor_close(struct visitor *v, int64_t now_us)
{
	if (v->state != VISITOR_CLOSED)
		close(v->fd);
	v->state = VISITOR_CLOSED;
	v->since_us = now_us;
}

/* visitor_update notices a failed send. */
static void send_all(struct visitor *v, const char *bytes, size_t len)
{
	ssize_t sent = send(v->fd, bytes, len, MSG_NOSIGNAL);
	if (sent >= 0 && (size_t)sent != len)
		abort(); /* a request fits into any socket's buffer */
}

void visitor_ask(struct visitor *v, const char *slug, const char *run, uint64_t number,
                 int64_t due_us, int64_t now_us)
{
	char request[512];
	int len = snprintf(
		request, sizeof(request),
		"GET /%s?utm_campaign=%s.%llu HTTP/1.1\r\nHost: waymark.test\r\nUser-Agent: " AGENT
		"\r\n"
		"X-Forwarded-For: 198.51.%u.%u\r\nAccept: text/html\r\nAccept-Language: de,en;q=0.8\r\n\r\n",
		slug, run, (unsigned long long)number, (unsigned)(number / 200 % 64),
		(unsigned)(number % 200));
	v->state = VISITOR_WAITING;
	v->number = number;
	v->due_us = due_us;
	v->asked_us = now_us;
	v->have = 0;
	v->head_is_over = false;
	send_all(v, request, (size_t)len);
}

void visitor_drip(struct visitor *v, char byte)
{
	send_all(v, &byte, 1);
}

/* Parses the head; returns false if it is not HTTP/1.1. */
static bool read_head(struct visitor *v)
{
	if (strncmp(v->head, "HTTP/1.1 ", 9) != 0)
		return false;
	const char *length = strcasestr(v->head, "\r\nContent-Length:");
	v->status = (unsigned)strtoul(v->head + 9, NULL, 10);
	v->body_left = length ? strtoul(length + 17, NULL, 10) : 0;
	v->closes = strcasestr(v->head, "\r\nConnection: close") != NULL;
	v->head_is_over = true;
	return v->status != 0;
}

/* Adds bytes of a response; returns false if they are not part of one. */
static bool take(struct visitor *v, const char *bytes, size_t len)
{
	if (!v->head_is_over) {
		if (v->have + len >= sizeof(v->head))
			return false;
		memcpy(v->head + v->have, bytes, len);
		v->have += len;
		v->head[v->have] = '\0';
		const char *end = strstr(v->head, "\r\n\r\n");
		if (!end)
			return true;
		len = v->have - (size_t)(end + 4 - v->head);
		if (!read_head(v))
			return false;
	}
	v->body_left -= len < v->body_left ? len : v->body_left;
	return true;
}

/* epoll does not report again an end that came together with the answer. */
static enum visitor_event answered(struct visitor *v, int64_t now_us)
{
	char byte;
	v->state = VISITOR_IDLE;
	if (v->closes || recv(v->fd, &byte, 1, MSG_PEEK) == 0)
		visitor_close(v, now_us);
	return VISITOR_ANSWERED;
}

enum visitor_event visitor_update(struct visitor *v, int64_t now_us)
{
	char bytes[1500];
	enum visitor_state before = v->state;
	if (before == VISITOR_CLOSED)
		return VISITOR_NOTHING;
	ssize_t got;
	while ((got = recv(v->fd, bytes, sizeof(bytes), 0)) > 0) {
		if (!take(v, bytes, (size_t)got))
			break;
		if (v->state == VISITOR_WAITING && v->head_is_over && v->body_left == 0)
			return answered(v, now_us);
	}
	if (got < 0 && errno == EAGAIN) {
		if (before == VISITOR_CONNECTING)
			v->state = VISITOR_IDLE;
		return before == VISITOR_CONNECTING ? VISITOR_CONNECTED : VISITOR_NOTHING;
	}
	visitor_close(v, now_us);
	return VISITOR_DISCONNECTED;
}
