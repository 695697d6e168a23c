#include "lib/http/http_linger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"

void http_linger_add(struct http_linger *linger, int fd, int64_t now_us)
{
	if (linger->count == HTTP_LINGER_MAX)
		return;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return;
	shutdown(copy, SHUT_WR);
	linger->fds[linger->count] = copy;
	linger->until_us[linger->count++] = now_us + HTTP_LINGER_MS * CLOCK_US_PER_MS;
}

size_t http_linger_poll_entries(const struct http_linger *linger, struct pollfd *entries)
{
	for (size_t i = 0; i < linger->count; i++)
		entries[i] = (struct pollfd){ .fd = linger->fds[i], .events = POLLIN };
	return linger->count;
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

void http_linger_run(struct http_linger *linger, int64_t now_us)
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

int64_t http_linger_deadline(const struct http_linger *linger)
{
	int64_t first = INT64_MAX;
	for (size_t i = 0; i < linger->count; i++)
		if (linger->until_us[i] < first)
			first = linger->until_us[i];
	return first;
}

void http_linger_close_all(struct http_linger *linger)
{
	while (linger->count > 0)
		close(linger->fds[--linger->count]);
}
