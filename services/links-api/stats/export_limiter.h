/*
 * Safe from any thread. Limits how many exports run at the same time, in total and per user. Each
 * export holds a client connection until the client has read it, and loads the database.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATS_EXPORT_LIMITER_H
#define WAYMARK_SERVICES_LINKS_API_STATS_EXPORT_LIMITER_H

#include <stdint.h>

#include "lib/base/err.h"

#define EXPORT_LIMITER_MAX 32
#define EXPORT_LIMITER_MAX_PER_USER 4

struct export_limiter;

struct export_limiter *export_limiter_new(void);
/* NULL may be freed. */
void export_limiter_free(struct export_limiter *limiter);

/* ERR_LIMIT: too many exports are running. Call export_limiter_release once for each OK. */
enum err export_limiter_acquire(struct export_limiter *limiter, int64_t user_id) MUST_CHECK;
void export_limiter_release(struct export_limiter *limiter, int64_t user_id);

#endif
