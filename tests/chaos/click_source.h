/*
 * Pure, but for the clock and the ids. For the chaos tests of counting: what redirectors would send. Clicks on a range
 * of links, few of which get most; visitors who come back; agents of which it is known whether they are bots. And
 * poison: messages that are no clicks, of every kind.
 */
#ifndef WAYMARK_TESTS_CHAOS_CLICK_SOURCE_H
#define WAYMARK_TESTS_CHAOS_CLICK_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/strbuf.h"
#include "lib/clicks/redirect_event.h"

#define CLICK_SOURCE_LARGE ((size_t)999000)

struct click_source {
	uint64_t random; /* the seed, to begin with */
	int64_t first_link;
	uint64_t links;
	uint64_t visitors;
	uint64_t sequence;
	uint8_t instance[ENTROPY_UUID_SIZE];
};

/* The number of its visitor goes to *visitor, whether he is a bot to *is_bot. */
void click_source_next(struct click_source *source, struct redirect_event *out, uint64_t *visitor, bool *is_bot);

/* What is wrong with it: the headers say something else, or the bytes do. */
enum poison {
	POISON_NUL,
	POISON_UTF8,
	POISON_EMPTY,
	POISON_TRUNCATED,
	POISON_LARGE,
	POISON_TYPE,    /* another event's */
	POISON_VERSION, /* of a later topic */
	POISON_CONTENT, /* JSON, as content-type says */
	POISON_KINDS,
};

/* "nul"; names have no dash. */
const char *click_source_poison_name(enum poison kind);

/* The value (emptied before), and what its headers say in place of REDIRECT_EVENT_TYPE and of protobuf. */
void click_source_poison(struct click_source *source, enum poison kind, struct strbuf *value, const char **type,
                         const char **content);

#endif
