/*
 * Safe from any thread. Limits how many exports run at the same time, in total and per user. Each
 * export holds a client connection until the client has read it, and loads the database.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATS_EXPORT_DESK_H
#define WAYMARK_SERVICES_LINKS_API_STATS_EXPORT_DESK_H

#include <stdint.h>

#include "lib/base/err.h"

#define EXPORT_DESK_MAX 32
#define EXPORT_DESK_MAX_PER_USER 4

struct export_desk;

struct export_desk *export_desk_new(void);
/* NULL may be freed. */
void export_desk_free(struct export_desk *limiter);

/* ERR_LIMIT: too many exports are running. Call export_desk_end once for each OK. */
enum err export_desk_begin(struct export_desk *limiter, int64_t user_id) MUST_CHECK;
void export_desk_end(struct export_desk *limiter, int64_t user_id);

#endif
