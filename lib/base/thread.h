/*
 * A named thread that runs one function until it is asked to stop. Its waits end early when a stop
 * is requested, so that stopping never takes a full interval.
 *
 *   static void run(void *ctx)
 *   {
 *           struct job *job = ctx;
 *           while (!thread_wait_ms(job->thread, 1000))
 *                   do_something(job);
 *   }
 *
 * Only the owner calls thread_new, thread_start, thread_stop and thread_free. The
 * rest is safe from any thread.
 */
#ifndef WAYMARK_LIB_BASE_THREAD_H
#define WAYMARK_LIB_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * Creates a named thread, or aborts. name has at most 15 bytes; tools like top show it. For modules
 * with a wait loop of their own; all others use thread_new. The caller joins it.
 */
void thread_spawn(pthread_t *thread, const char *name, void *(*run)(void *arg), void *arg);

struct thread;

struct thread *thread_new(void);

/*
 * Starts the thread. Call once. name has at most 15 bytes; tools like top show it. run must return
 * soon after thread_is_stopping turns true. Aborts if the thread cannot be created.
 */
void thread_start(struct thread *thread, const char *name, void (*run)(void *ctx), void *ctx);

/* Requests a stop and returns at once. */
void thread_request_stop(struct thread *thread);

/* Requests a stop and waits until run has returned. Further calls do nothing. */
void thread_stop(struct thread *thread);

/* Stops the thread if it still runs, then frees it. NULL is allowed. */
void thread_free(struct thread *thread);

bool thread_is_stopping(struct thread *thread);

/* Waits at most ms. Returns true if a stop was requested, at once in that case. */
bool thread_wait_ms(struct thread *thread, int64_t ms);
/* The same, until a point in time of CLOCK_MONOTONIC (deadline.h). */
bool thread_wait_until(struct thread *thread, struct timespec moment);

#endif
