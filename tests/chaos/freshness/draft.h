/*
 * One thread at a time. What the maker of a link knows about it, and how one change of it is asked for and what the
 * answer means.
 */
#ifndef WAYMARK_TESTS_CHAOS_FRESHNESS_DRAFT_H
#define WAYMARK_TESTS_CHAOS_FRESHNESS_DRAFT_H

#include "tests/chaos/freshness/api_client.h"
#include "tests/chaos/freshness/history.h"

enum draft_state { DRAFT_NONE, DRAFT_ACTIVE, DRAFT_DISABLED, DRAFT_DELETED };

struct draft {
	enum draft_state state; /* NONE: not made, or lost sight of */
	uint32_t link;
	int64_t id;
	int64_t version;
	int64_t expires_us;        /* steady; 0 = never */
	uint32_t destination;      /* that is in force */
	uint32_t drawn;            /* the highest destination that was ever asked for */
	bool is_in_doubt;          /* it must be looked at before it is changed again */
	enum history_act in_doubt; /* what may have been done */
	char slug[HISTORY_SLUG_SIZE];
};

/*
 * Asks for the change and writes down in out what became of it. For CREATE, link is set in the draft, and slug unless
 * the API is to draw it; life_us: how long until it expires, for EXPIRE. false: nobody was there, nothing has happened.
 */
bool draft_change(struct draft *draft, struct api_client *client, enum history_act act, bool is_anonymous,
                  int64_t life_us, struct history_change *out);

#endif
