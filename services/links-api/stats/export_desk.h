/*
 * Safe from any thread. How many exports are under way: each holds a connection for as long as its client takes to read
 * it, and makes work for the database; so they are bounded, overall and per account.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATS_EXPORT_DESK_H
#define WAYMARK_SERVICES_LINKS_API_STATS_EXPORT_DESK_H

#include <stdint.h>

#include "lib/base/err.h"

#define EXPORT_DESK_MAX 32
#define EXPORT_DESK_MAX_PER_USER 4

struct export_desk;

struct export_desk *export_desk_new(void);
void export_desk_free(struct export_desk *desk);

/* ERR_LIMIT: there are too many. Each OK is ended by one export_desk_end. */
enum err export_desk_begin(struct export_desk *desk, int64_t user_id) MUST_CHECK;
void export_desk_end(struct export_desk *desk, int64_t user_id);

#endif
