/*
 * Bounded waits that do not depend on the wall clock: points in time of CLOCK_MONOTONIC, and
 * condition variables for which pthread_cond_timedwait expects such a point in time.
 *
 * Safe from any thread.
 */
#ifndef WAYMARK_LIB_BASE_DEADLINE_H
#define WAYMARK_LIB_BASE_DEADLINE_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* The point in time ms from now. ms must not be negative. */
struct timespec deadline_in_ms(int64_t ms);

/* Use it instead of pthread_cond_init. */
void deadline_cond_init(pthread_cond_t *cond);

#endif
