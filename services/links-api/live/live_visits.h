/*
 * The latest visits of waymark.visits.v1 in memory: a ring in the order of their arrival. Visits
 * have numbers, which only rise. Not thread-safe.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LIVE_LIVE_VISITS_H
#define WAYMARK_SERVICES_LINKS_API_LIVE_LIVE_VISITS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"

#define LIVE_VISITS_PARTITIONS_MAX 64
#define LIVE_VISITS_MAX 16384
#define LIVE_VISITS_BYTES_MAX ((size_t)16 << 20)

struct live_visit {
	int64_t workspace_id;
	int32_t partition;
	int64_t offset;
	/* Made when it is first sent; NULL = not yet. */
	char *json;
	size_t len;
	/* A VisitEvent. */
	uint8_t event[];
};

struct live_visits;

struct live_visits *live_visits_new(void);
/* NULL may be freed. */
void live_visits_free(struct live_visits *visits);
void live_visits_clear(struct live_visits *visits);

/*
 * Adds a VisitEvent, and drops the oldest visits beyond the limits. Returns its workspace. 0: it has
 * none, or is malformed; it was not added.
 */
int64_t live_visits_add(struct live_visits *visits, int32_t partition, int64_t offset,
                        const void *event, size_t len);

/* The numbers of the oldest visit, and of the next one that is added. */
uint64_t live_visits_first(const struct live_visits *visits);
uint64_t live_visits_end(const struct live_visits *visits);

/* number: from live_visits_first up to live_visits_end. */
struct live_visit *live_visits_get(const struct live_visits *visits, uint64_t number);

/* {event_id, occurred_at, link_id, slug, …} and a NUL, borrowed until the next live_visits_add. */
const char *live_visits_json(struct live_visits *visits, struct live_visit *visit);

/* True if a visit of somebody at or after next in this partition was dropped. */
bool live_visits_dropped(const struct live_visits *visits, int32_t partition, int64_t next);

/* --- positions --- */

/*
 * How far a stream of visits has come in waymark.visits.v1: the next offset of each partition. It
 * is the id of each event ("0:812,1:790"), so that a client continues where it was, on any
 * instance. Pure.
 */
struct live_visits_position {
	/* -1 = not known. */
	int64_t next[LIVE_VISITS_PARTITIONS_MAX];
};

void live_visits_clear_position(struct live_visits_position *position);

/* Writes the partitions that are known; nothing if none is. */
void live_visits_add_position(const struct live_visits_position *position, struct strbuf *out);

/*
 * Reads what live_visits_add_position writes, in any order. Partitions beyond those that are read are
 * ignored. ERR_INVALID: another form.
 */
enum err live_visits_parse_position(const char *text, struct live_visits_position *out) MUST_CHECK;

#endif
