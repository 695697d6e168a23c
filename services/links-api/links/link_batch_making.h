/*
 * One thread at a time, as its request. What the files of link_batch.h share: a batch and its items, and how the links
 * are made that it wishes for. Nobody else includes it.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_BATCH_MAKING_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_BATCH_MAKING_H

#include "lib/base/digest.h"
#include "lib/links/link_check_store.h"
#include "services/links-api/links/link_batch.h"
#include "services/links-api/links/link_request.h"
#include "services/links-api/links/slug_issuer.h"

enum link_batch_outcome {
	UNDECIDED,
	WRONG,
	MADE,
	FOUND,
	CLAIMED,
	TAKEN,
	LIMITED,
	EXHAUSTED,
	NO_SUCH,
	EXPIRED,
	OUTCOMES
};

struct link_batch_item {
	enum link_batch_outcome outcome;
	struct json *problem; /* of a WRONG one */
	bool is_claim;
	struct link_request wish; /* of a claim: its slug alone */
	uint8_t claim_token_hash[DIGEST_SIZE];
	struct link link;
	struct slug_issuer_item issued;
	/* Of a wish for a link: who of the batch wishes for the same first, perhaps itself. */
	struct link_batch_item *slug_first; /* NULL: for no slug of its own */
	struct link_batch_item *url_first;
	/* Of the first of a destination: */
	const struct link_batch_item *reusable; /* one of them that has a link; NULL = none yet */
	bool is_tried;                          /* one of them may get a link in this round */
};

struct link_batch {
	struct request *request;
	struct link_batch_item *items;
	size_t count;
	struct link_quota quota;
	struct slug_issuer_item **round; /* room for all */
	struct statistics *statistics;
	struct link_check *checks;
	int64_t until_us; /* of the steady clock */
};

static inline bool link_batch_making_has_link(const struct link_batch_item *item)
{
	return item->outcome == MADE || item->outcome == FOUND || item->outcome == CLAIMED;
}

/* Once all items have been read: who of them wishes for the same. */
void link_batch_making_match(struct link_batch *batch);

/* Before each statement of many: nobody waits for this batch longer than that. ERR_UNAVAILABLE: it is too late. */
enum err link_batch_making_look_at_clock(const struct link_batch *batch) MUST_CHECK;

/* In the transaction, behind the claims: decides whatever is UNDECIDED. Errors of link_batch_write. */
enum err link_batch_making_run(struct link_batch *batch, struct pg_conn *conn) MUST_CHECK;

#endif
