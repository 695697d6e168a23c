/*
 * The visits of a link or of a workspace, as a page or as an export (GET /api/links/{id}/visits,
 * /api/visits). The limits of exports are here: how many run at the same time, in total and per user.
 * Each export holds a client connection until the client has read it, and loads the database. Safe from
 * any thread.
 *
 * A workspace's visits come in the order of their time, so that a program can follow them. They end
 * VISIT_EXPORT_SETTLING_US before as_of: clicks of several redirectors, and those that Kafka got at the
 * second try, have arrived by then.
 *
 * Half of the places are only for users without an export, so a few users with slow clients leave
 * room for others. An export that a client reads too slowly ends.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_VISIT_EXPORT_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_VISIT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

#define VISIT_EXPORT_MAX 32
#define VISIT_EXPORT_MAX_PER_USER 4
#define VISIT_EXPORT_SETTLING_US INT64_C(60000000)
/* The average rate that an export needs after the first minute of its client. */
#define VISIT_EXPORT_BYTES_PER_S_MIN 16384

struct visit_export_limiter;

struct visit_export_limiter *visit_export_limiter_new(void);
/* NULL may be freed. */
void visit_export_limiter_free(struct visit_export_limiter *limiter);

/* ERR_LIMIT: too many exports are running. Call visit_export_limiter_release once for each OK. */
enum err visit_export_limiter_acquire(struct visit_export_limiter *limiter,
                                      int64_t user_id) MUST_CHECK;
void visit_export_limiter_release(struct visit_export_limiter *limiter, int64_t user_id);

/*
 * bytes: that the client has taken in taking_us. The time in which chunks are read, or wait for a
 * worker, is not its own.
 */
bool visit_export_is_too_slow(int64_t taking_us, size_t bytes);

#endif
