/*
 * One thread at a time. Private to the http_* files. Lingering close: a response that is sent
 * before the peer has finished sending is lost if the socket closes at once, because the kernel
 * then resets the connection. So these sockets stay open for a moment, and their input is discarded
 * until the peer closes too.
 */
#ifndef WAYMARK_LIB_HTTP_HTTP_LINGER_H
#define WAYMARK_LIB_HTTP_HTTP_LINGER_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_LINGER_MAX 64
#define HTTP_LINGER_MS 2000

struct http_linger {
	size_t count;
	int fds[HTTP_LINGER_MAX];
	/* Steady. */
	int64_t until_us[HTTP_LINGER_MAX];
};

/* Keeps a duplicate of fd, shut for writing, unless HTTP_LINGER_MAX sockets linger already. */
void http_linger_add(struct http_linger *linger, int fd, int64_t now_us);

/* Fills at most HTTP_LINGER_MAX entries for poll(2) and returns their number. */
size_t http_linger_poll_entries(const struct http_linger *linger, struct pollfd *entries);

/* Discards input; closes sockets that have ended or whose time is over. */
void http_linger_run(struct http_linger *linger, int64_t now_us);

/* The steady time at which the first socket must be closed; INT64_MAX: none lingers. */
int64_t http_linger_deadline(const struct http_linger *linger);

void http_linger_close_all(struct http_linger *linger);

#endif
