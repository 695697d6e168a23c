/*
 * Orderly shutdown. SIGTERM and SIGINT request it; SIGPIPE is ignored. The signals are blocked in
 * every thread and read from a descriptor, so no code runs in a signal handler.
 *
 * Call shutdown_new before starting any thread. Everything else is safe from any thread.
 */
#ifndef WAYMARK_LIB_BASE_SHUTDOWN_H
#define WAYMARK_LIB_BASE_SHUTDOWN_H

#include <stdbool.h>
#include <stdint.h>

struct log;
struct shutdown;

struct shutdown *shutdown_new(void);
void shutdown_free(struct shutdown *s);

/* Waits for a signal or shutdown_request. */
void shutdown_wait(struct shutdown *s);

/*
 * Waits at most timeout_ms. Returns true if a shutdown was requested. For loops that run
 * periodically.
 */
bool shutdown_wait_ms(struct shutdown *s, int64_t timeout_ms);

bool shutdown_requested(const struct shutdown *s);

/* Requests a shutdown from inside the program. */
void shutdown_request(struct shutdown *s);

/*
 * From now on the program ends within limit_ms, with EXIT_FAILURE and the event stop_timed_out,
 * even if a thread does not end. glibc's getaddrinfo cannot be interrupted, and takes minutes while
 * DNS does not answer (resolv.conf(5): timeout, attempts, search). Call at most once, when a
 * shutdown was requested. shutdown_free lifts the limit; log must live until then.
 */
void shutdown_limit(struct shutdown *s, int64_t limit_ms, const struct log *log);

#endif
