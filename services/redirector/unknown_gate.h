/*
 * Safe from any thread. Keeps a flood of invented slugs from PostgreSQL, and denies no slug that was issued.
 *
 * A slug that is not in the filter does not exist, except for one that was issued moments ago. So it is either asked
 * about in PostgreSQL, as long as the budget for that lasts (quick, for people who mistype), or it waits until the feed
 * has come to its arrival: every slug whose 201 came before is in the filter by then. Is it still not there, it is
 * unknown.
 *
 * Who waits is bounded in number and time; beyond that PostgreSQL is asked, as it is while the filter is not complete
 * or too full, or the feed is behind.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_UNKNOWN_GATE_H
#define WAYMARK_SERVICES_REDIRECTOR_UNKNOWN_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/metrics.h"
#include "services/redirector/feed_progress.h"
#include "services/redirector/slug_filter.h"

/* How far apart the clocks of this machine and of PostgreSQL may be. */
#define UNKNOWN_GATE_CLOCK_SKEW_US (200 * CLOCK_US_PER_MS)
#define UNKNOWN_GATE_PATIENCE_US CLOCK_US_PER_S
#define UNKNOWN_GATE_RUN_MAX 16

struct unknown_gate;

struct unknown_gate_config {
	const struct slug_filter *filter; /* borrowed, as the next one */
	const struct feed_progress *progress;
	int64_t queries_per_second; /* the budget for PostgreSQL */
	size_t waiting_max;
	const struct clock *clock;
	struct metrics *metrics;
};

struct unknown_gate *unknown_gate_new(const struct unknown_gate_config *config);
/* After unknown_gate_close. */
void unknown_gate_free(struct unknown_gate *gate);

/* ERR_NOT_FOUND: there is no such slug. ERR_UNAVAILABLE: nobody here can tell, ask PostgreSQL. */
typedef void (*unknown_gate_told)(void *visitor, enum err verdict);

/*
 * For a slug that neither memory nor Redis knows, after its visitors have been noted as those who asked until now.
 * False: ask PostgreSQL, at once. True: told is called once, later, from the thread that advances or closes. slug is
 * borrowed until then.
 */
bool unknown_gate_hold(struct unknown_gate *gate, const char *slug, unknown_gate_told told, void *visitor);

/* Whether somebody waits. */
bool unknown_gate_is_waited_at(struct unknown_gate *gate);

/*
 * The feed has come further, or some time has passed: tells those whose time has come, at most UNKNOWN_GATE_RUN_MAX: a
 * mark may be what hundreds wait for, whose answers all at once would hold up the hits behind them. True: more are due;
 * come back in a millisecond. By one thread, every few ms.
 */
bool unknown_gate_advance(struct unknown_gate *gate);

/* Tells everybody ERR_UNAVAILABLE, and holds nobody any more. */
void unknown_gate_close(struct unknown_gate *gate);

#endif
