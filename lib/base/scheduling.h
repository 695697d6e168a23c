/*
 * CPU scheduling hints for threads that share a core with request threads. They are only hints: if
 * the kernel does not grant one, everything works as without it.
 */
#ifndef WAYMARK_LIB_BASE_SCHEDULING_H
#define WAYMARK_LIB_BASE_SCHEDULING_H

/*
 * Lowers the priority of the calling thread, and of every thread that it starts from now on, below
 * that of request threads. The nice value becomes that of the main thread plus 5; the main thread
 * keeps its own. On a fully loaded machine the thread still gets a third of the CPU time of a
 * normal thread, so it never starves.
 */
void scheduling_lower_priority(void);

/*
 * Gives the calling thread short time slices (0.1 ms). It then runs as soon as it has work and
 * preempts threads that are in the middle of a longer slice. Needs Linux 6.12; has no effect on
 * older kernels.
 */
void scheduling_use_short_slices(void);

/*
 * Runs call in a new thread of lower priority and returns when it is done. For libraries that start
 * threads: these inherit the lower priority.
 */
void scheduling_call_at_lower_priority(void (*call)(void *ctx), void *ctx);

#endif
