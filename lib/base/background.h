/*
 * A named thread that runs one function until it is asked to stop. Its waits end early when a stop
 * is requested, so that stopping never takes a full interval.
 *
 *   static void run(void *ctx)
 *   {
 *           struct job *job = ctx;
 *           while (!background_wait_ms(job->thread, 1000))
 *                   do_something(job);
 *   }
 *
 * Only the owner calls background_new, background_start, background_end and background_free. The
 * rest is safe from any thread.
 */
#ifndef WAYMARK_LIB_BASE_BACKGROUND_H
#define WAYMARK_LIB_BASE_BACKGROUND_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * Creates a named thread, or aborts. name has at most 15 bytes; tools like top show it. For modules
 * with a wait loop of their own; all others use background_new. The caller joins it.
 */
void background_spawn(pthread_t *thread, const char *name, void *(*run)(void *arg), void *arg);

struct background;

struct background *background_new(void);

/*
 * Starts the thread. Call once. name has at most 15 bytes; tools like top show it. run must return
 * soon after background_is_ending turns true. Aborts if the thread cannot be created.
 */
void background_start(struct background *background, const char *name, void (*run)(void *ctx), void *ctx);

/* Requests a stop and returns at once. */
void background_ask_to_end(struct background *background);

/* Requests a stop and waits until run has returned. Further calls do nothing. */
void background_end(struct background *background);

/* Stops the thread if it still runs, then frees it. NULL is allowed. */
void background_free(struct background *background);

bool background_is_ending(struct background *background);

/* Waits at most ms. Returns true if a stop was requested, at once in that case. */
bool background_wait_ms(struct background *background, int64_t ms);
/* The same, until a point in time of CLOCK_MONOTONIC (deadline.h). */
bool background_wait_until(struct background *background, struct timespec moment);

#endif
