/*
 * Safe from any thread. Limits how many exports run at the same time, in total and per user. Each
 * export holds a client connection until the client has read it, and loads the database.
 *
 * Half of the places are only for users without an export, so a few users with slow clients leave
 * room for others. An export that a client reads too slowly ends.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_EXPORT_LIMITER_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_EXPORT_LIMITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

#define EXPORT_LIMITER_MAX 32
#define EXPORT_LIMITER_MAX_PER_USER 4
/* The average rate that an export needs after the first minute of its client. */
#define EXPORT_LIMITER_BYTES_PER_S_MIN 16384

struct export_limiter;

struct export_limiter *export_limiter_new(void);
/* NULL may be freed. */
void export_limiter_free(struct export_limiter *limiter);

/* ERR_LIMIT: too many exports are running. Call export_limiter_release once for each OK. */
enum err export_limiter_acquire(struct export_limiter *limiter, int64_t user_id) MUST_CHECK;
void export_limiter_release(struct export_limiter *limiter, int64_t user_id);

/*
 * bytes: that the client has taken in taking_us. The time in which chunks are read, or wait for a
 * worker, is not its own.
 */
bool export_limiter_is_too_slow(int64_t taking_us, size_t bytes);

#endif
