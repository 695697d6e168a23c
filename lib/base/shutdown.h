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

struct shutdown;

struct shutdown *shutdown_new(void);
void shutdown_free(struct shutdown *s);

/* Waits for a signal or shutdown_request. */
void shutdown_wait(struct shutdown *s);

/* True if a shutdown was requested within timeout_ms. For loops that run periodically. */
bool shutdown_wait_ms(struct shutdown *s, int64_t timeout_ms);

bool shutdown_requested(const struct shutdown *s);

/* Requests a shutdown from inside the program. */
void shutdown_request(struct shutdown *s);

#endif
