/*
 * How far a stream of visits has come in waymark.visits.v1: the next offset of each partition. It
 * is the id of each event ("0:812,1:790"), so that a client continues where it was, on any
 * instance. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LIVE_LIVE_POSITION_H
#define WAYMARK_SERVICES_LINKS_API_LIVE_LIVE_POSITION_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"

#define LIVE_POSITION_PARTITIONS_MAX 64

struct live_position {
	/* -1 = not known. */
	int64_t next[LIVE_POSITION_PARTITIONS_MAX];
};

void live_position_clear(struct live_position *position);

/* Writes the partitions that are known; nothing if none is. */
void live_position_add_text(const struct live_position *position, struct strbuf *out);

/*
 * Reads what live_position_add_text writes, in any order. Partitions beyond those that are read are
 * ignored. ERR_INVALID: another form.
 */
enum err live_position_parse(const char *text, struct live_position *out) MUST_CHECK;

#endif
