/*
 * An editor's view of a link: what is known about it, how a change is requested, and what the
 * answer means. One thread at a time.
 */
#ifndef WAYMARK_TESTS_CHAOS_FRESHNESS_DRAFT_H
#define WAYMARK_TESTS_CHAOS_FRESHNESS_DRAFT_H

#include "tests/chaos/freshness/api_client.h"
#include "tests/chaos/freshness/history.h"

enum draft_state { DRAFT_NONE, DRAFT_ACTIVE, DRAFT_DISABLED, DRAFT_DELETED };

struct draft {
	/* NONE: not made, or in an unknown state. */
	enum draft_state state;
	uint32_t link;
	int64_t id;
	int64_t version;
	/* Steady; 0 = never. */
	int64_t expires_us;
	/* In force. */
	uint32_t destination;
	/* The highest destination that was ever requested. */
	uint32_t drawn;
	/* The next request must be a LOOK. */
	bool is_in_doubt;
	/* The change that may have been made. */
	enum history_act in_doubt;
	char slug[HISTORY_SLUG_SIZE];
};

/*
 * Requests a change and describes its outcome in *out. CREATE needs link in the draft, and slug
 * unless the API chooses it. EXPIRE sets the expiry life_us from now. Returns false, with nothing
 * done, if there was no connection.
 */
bool draft_change(struct draft *draft, struct api_client *client, enum history_act act,
                  bool is_anonymous, int64_t life_us, struct history_change *out);

#endif
