/*
 * Safe from any thread, but for new, start, end and free, which are the owner's. A thread of its owner's that works
 * until it is asked to end, and whose waits are over then.
 */
#ifndef WAYMARK_LIB_BASE_BACKGROUND_H
#define WAYMARK_LIB_BASE_BACKGROUND_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct background;

struct background *background_new(void);

/* name: at most 15 bytes; tools like top show it. run returns soon after background_is_ending. Once. */
void background_start(struct background *background, const char *name, void (*run)(void *ctx), void *ctx);

/* Asks for the end without waiting for it. */
void background_ask_to_end(struct background *background);

/* The same, and waits until run has returned. Once more does no harm. */
void background_end(struct background *background);

/* Ends it if that has not been done. NULL is allowed. */
void background_free(struct background *background);

bool background_is_ending(struct background *background);

/* True when the end has been asked for; at once then. */
bool background_wait_ms(struct background *background, int64_t ms);
/* The same until a moment of CLOCK_MONOTONIC (deadline.h). */
bool background_wait_until(struct background *background, struct timespec moment);

#endif
