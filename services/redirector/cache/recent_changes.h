/*
 * Safe from any thread. Remembers when links changed, according to the feed of link events, and
 * when this process last wrote them into Redis.
 *
 * Both times are kept per bucket of slugs, so the table takes 64 KiB whatever happens. Two slugs in
 * one bucket cost an extra query, never a wrong response. Times are steady.
 *
 * recent_changes_start_fill records the fill before it looks at the changes; recent_changes_add
 * records the change before it looks at the fills. So when a fill and a change race, at least one
 * sees the other.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_CACHE_RECENT_CHANGES_H
#define WAYMARK_SERVICES_REDIRECTOR_CACHE_RECENT_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"

/*
 * How long after a change a delayed fill may still write the old version into Redis: its process
 * read PostgreSQL before the change and was then held up. What Redis returns within this time after
 * a change may be such a value.
 */
#define RECENT_CHANGES_LATE_FILL_US (5 * CLOCK_US_PER_S)

struct recent_changes;

struct recent_changes *recent_changes_new(void);
void recent_changes_free(struct recent_changes *changes);

/*
 * Records an event of this slug; call it before the event is applied. True: this process wrote the
 * slug's bucket into Redis within RECENT_CHANGES_LATE_FILL_US, so the write may have been stale.
 */
bool recent_changes_add(struct recent_changes *changes, const char *slug, size_t slug_len,
                        int64_t now_us);

/* Whether the last event of the slug's bucket came before since_us. */
bool recent_changes_none_since(const struct recent_changes *changes, const char *slug,
                               size_t slug_len, int64_t since_us);

/*
 * Records a fill of Redis with what was read from PostgreSQL at read_at_us; call it before the
 * fill. False: the slug's bucket has changed since then and must not be written.
 */
bool recent_changes_start_fill(struct recent_changes *changes, const char *slug, size_t slug_len,
                               int64_t read_at_us, int64_t now_us);

#endif
