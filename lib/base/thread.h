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
 * Only the owner calls thread_new, thread_start, thread_stop and thread_free. The rest is safe from
 * any thread.
 */
#ifndef WAYMARK_LIB_BASE_THREAD_H
#define WAYMARK_LIB_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "lib/base/err.h"

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
/* The same, until a point in time of CLOCK_MONOTONIC (thread_deadline_in_ms). */
bool thread_wait_until(struct thread *thread, struct timespec moment);

/* --- bounded waits: safe from any thread, and whatever the wall clock does --- */

/*
 * Waits until fd is ready for events (of poll). OK: *ready has those that occurred. ERR_LIMIT: the
 * deadline (steady, at most a day ahead; INT64_MAX: none) passed first. ERR_UNAVAILABLE: poll
 * failed, see errno.
 */
enum err thread_poll(int fd, short events, int64_t deadline_us, short *ready) MUST_CHECK;

/* The point in time of CLOCK_MONOTONIC ms from now. ms must not be negative. */
struct timespec thread_deadline_in_ms(int64_t ms);

/* Use it instead of pthread_cond_init: pthread_cond_timedwait then expects such a point in time. */
void thread_cond_init(pthread_cond_t *cond);

/* --- priority: hints, without which everything works if the kernel does not grant one --- */

/*
 * Lowers the priority of the calling thread, and of every thread that it starts from now on, below
 * that of request threads. The nice value becomes that of the main thread plus 5; the main thread
 * keeps its own. On a fully loaded machine the thread still gets a third of the CPU time of a
 * normal thread, so it never starves.
 */
void thread_lower_priority(void);

/*
 * Gives the calling thread short time slices (0.1 ms). It then runs as soon as it has work and
 * preempts threads that are in the middle of a longer slice. Needs Linux 6.12; has no effect on
 * older kernels.
 */
void thread_use_short_slices(void);

/*
 * Runs call in a new thread of lower priority and returns when it is done. For libraries that start
 * threads: these inherit the lower priority.
 */
void thread_call_at_lower_priority(void (*call)(void *ctx), void *ctx);

#endif
