/*
 * One thread at a time. Private to the http_* files: sockets that were answered before their peers had finished
 * sending. Closing them at once would make the kernel reset the connection, and the peer would lose the answer that
 * tells it why; so their input is thrown away for a moment, until the peer has closed, too.
 */
#ifndef WAYMARK_LIB_NET_HTTP_LINGER_H
#define WAYMARK_LIB_NET_HTTP_LINGER_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_LINGER_MAX 64
#define HTTP_LINGER_MS 2000

struct http_linger {
	size_t count;
	int fds[HTTP_LINGER_MAX];
	int64_t until_us[HTTP_LINGER_MAX]; /* steady */
};

/* Keeps a duplicate of fd; when there are too many, it does not. */
void http_linger_add(struct http_linger *linger, int fd, int64_t now_us);

/* Entries for poll(2), at most HTTP_LINGER_MAX; gives their number. */
size_t http_linger_poll_entries(const struct http_linger *linger, struct pollfd *entries);

/* Reads what has come and closes what has ended or lingered for long enough. */
void http_linger_run(struct http_linger *linger, int64_t now_us);

/* The steady time at which the first must be closed; INT64_MAX: there is none. */
int64_t http_linger_deadline(const struct http_linger *linger);

void http_linger_close_all(struct http_linger *linger);

#endif
