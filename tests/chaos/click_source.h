/*
 * The clicks of the chaos tests of counting, as redirectors would send them. A few links of a range
 * get most of the clicks, visitors return, and each user agent is known to be a bot or not. It also
 * makes poison: events and records of every kind that are no clicks. Pure, except for the clock and the ids.
 */
#ifndef WAYMARK_TESTS_CHAOS_CLICK_SOURCE_H
#define WAYMARK_TESTS_CHAOS_CLICK_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/strbuf.h"
#include "lib/clicks/redirect_event.h"

#define CLICK_SOURCE_LARGE ((size_t)999000)

struct click_source {
	/* The seed, to begin with. */
	uint64_t random;
	int64_t first_link;
	uint64_t links;
	uint64_t visitors;
	uint64_t sequence;
	uint8_t instance[ENTROPY_UUID_SIZE];
};

/* Makes the next click. *visitor is the number of its visitor. */
void click_source_next(struct click_source *source, struct redirect_event *out, uint64_t *visitor,
                       bool *is_bot);

/* What is wrong with an event, or with the bytes or headers of a record. */
enum poison {
	POISON_NUL,
	POISON_UTF8,
	POISON_EVENTS,
	POISON_EMPTY = POISON_EVENTS,
	POISON_TRUNCATED,
	POISON_LARGE,
	POISON_TYPE,    /* the type of another event */
	POISON_VERSION, /* a later version of the type */
	POISON_CONTENT, /* content-type says JSON */
	POISON_KINDS,
};

/* "nul" and so on; names have no dash. */
const char *click_source_poison_name(enum poison kind);

/*
 * Replaces *value: before POISON_EVENTS by an event that belongs into a batch, else by a record. *type
 * and *content replace REDIRECT_BATCH_TYPE and protobuf in its headers.
 */
void click_source_poison(struct click_source *source, enum poison kind, struct strbuf *value,
                         const char **type, const char **content);

#endif
