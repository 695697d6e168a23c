#include "lib/base/shutdown.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"

/*
 * The eventfd stays readable once written, so every waiting thread sees it. The thread that notices
 * a signal writes to the eventfd.
 */
struct shutdown {
	int signal_fd;
	int event_fd;
};

struct shutdown *shutdown_new(void)
{
	struct shutdown *s = mem_zero(sizeof(*s));
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	s->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	s->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->signal_fd < 0 || s->event_fd < 0 ||
	    pthread_sigmask(SIG_BLOCK, &signals, NULL) != 0 ||
	    sigaction(SIGPIPE, &ignore, NULL) != 0)
		abort();
	return s;
}

void shutdown_free(struct shutdown *s)
{
	if (!s)
		return;
	/* The signals stay blocked: a second one must not interrupt an orderly shutdown. */
	close(s->signal_fd);
	close(s->event_fd);
	free(s);
}

static void set_event(const struct shutdown *s)
{
	/* It can only fail because the counter is full, which means the same. */
	(void)!write(s->event_fd, &(uint64_t){ 1 }, sizeof(uint64_t));
}

/* timeout_ms < 0 waits forever. */
static bool wait_for_request(const struct shutdown *s, int timeout_ms)
{
	struct pollfd fds[] = {
		{ .fd = s->event_fd, .events = POLLIN },
		{ .fd = s->signal_fd, .events = POLLIN },
	};
	int ready = poll(fds, 2, timeout_ms);
	if (ready < 0 && errno != EINTR)
		abort();
	if (ready <= 0)
		return false;
	if (fds[1].revents)
		set_event(s);
	return true;
}

void shutdown_wait(struct shutdown *s)
{
	while (!wait_for_request(s, -1)) {
	}
}

bool shutdown_wait_ms(struct shutdown *s, int64_t timeout_ms)
{
	const struct clock *clock = clock_system();
	int64_t start_us = clock_steady_us(clock);
	for (;;) {
		int64_t left_ms =
			timeout_ms - (clock_steady_us(clock) - start_us) / CLOCK_US_PER_MS;
		if (left_ms <= 0)
			return shutdown_requested(s);
		if (wait_for_request(s, left_ms < INT_MAX ? (int)left_ms : INT_MAX))
			return true;
	}
}

bool shutdown_requested(const struct shutdown *s)
{
	return wait_for_request(s, 0);
}

void shutdown_request(struct shutdown *s)
{
	set_event(s);
}
