/*
 * Safe from any thread after shutdown_new, which comes before any thread is made. SIGTERM and SIGINT ask for an orderly
 * end; SIGPIPE is ignored. The signals are blocked in every thread and read from a descriptor, so no code runs in a
 * signal handler.
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

/* Waits at most timeout_ms; true when the end has been asked for. For loops that work on a timetable. */
bool shutdown_wait_ms(struct shutdown *s, int64_t timeout_ms);

bool shutdown_requested(const struct shutdown *s);

/* Asks for the end from inside the program. */
void shutdown_request(struct shutdown *s);

#endif
