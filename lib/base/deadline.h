/*
 * Safe from any thread. Waiting no longer than so long, whatever is done to the wall time meanwhile: moments of
 * CLOCK_MONOTONIC, and conditions for which pthread_cond_timedwait takes such a moment.
 */
#ifndef WAYMARK_LIB_BASE_DEADLINE_H
#define WAYMARK_LIB_BASE_DEADLINE_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* The moment ms from now; ms is not negative. */
struct timespec deadline_in_ms(int64_t ms);

/* Takes the place of pthread_cond_init. */
void deadline_cond_init(pthread_cond_t *cond);

#endif
