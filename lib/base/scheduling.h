/*
 * What a thread asks of the kernel when several want the same core. These are wishes: where the kernel does not grant
 * one, everything works as it would without.
 */
#ifndef WAYMARK_LIB_BASE_SCHEDULING_H
#define WAYMARK_LIB_BASE_SCHEDULING_H

/*
 * The calling thread, and every thread that it starts from now on, gives way to those that answer somebody (nice 5, and
 * as much more as the main thread has, which does not give way). It still gets a third of what an ordinary thread gets of
 * a full machine, so that it never starves.
 */
void scheduling_give_way(void);

/*
 * The calling thread works in short turns, and has its turn as soon as there is something to do, in place of a thread
 * that is in the middle of a longer one (slices of 0.1 ms; Linux 6.12 or later, before it the wish has no effect).
 */
void scheduling_take_short_turns(void);

/*
 * Calls in a thread of its own that gives way, and returns when the call has: for libraries that start threads, which
 * then give way as well.
 */
void scheduling_call_giving_way(void (*call)(void *ctx), void *ctx);

#endif
