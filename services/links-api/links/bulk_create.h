/*
 * One thread at a time, as its request. Internal to link_bulk.c and bulk_create.c: the items of a
 * bulk write, and the creation of links for them.
 *
 * Items can request the same slug, or the same URL with reuse. Only the first of them can create a
 * link; the others wait for its outcome. Creation therefore runs in rounds. Each round is a fixed
 * number of statements, however many links it creates:
 *
 *   1. Look up existing links that items can reuse. The others count against BULK_LINKS_PER_MINUTE.
 *   2. Round: choose every pending item that waits for no other, within the quota, and create its
 *      link.
 *   3. Repeat until no item is chosen. The second round creates links for items whose predecessor
 *      failed; further rounds replace random slugs that were already used.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_BULK_CREATE_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_BULK_CREATE_H

#include "lib/base/digest.h"
#include "services/links-api/links/link_bulk.h"
#include "services/links-api/links/link_conflict.h"
#include "services/links-api/links/link_details.h"
#include "services/links-api/links/link_quota.h"
#include "services/links-api/links/link_request.h"
#include "services/links-api/links/slug_allocator.h"

enum link_bulk_outcome {
	BULK_PENDING,
	BULK_INVALID,
	BULK_CREATED,
	BULK_FOUND, /* reused, or claimed earlier */
	BULK_CLAIMED,
	BULK_TAKEN, /* another link or an earlier item has the slug or the external_id */
	BULK_OVER_QUOTA,
	BULK_NO_FREE_SLUG, /* random slugs of all lengths are used */
	BULK_NOT_FOUND,    /* no link matches slug and claim token */
	BULK_EXPIRED,      /* the link to claim has expired */
	BULK_KEY_LIMITED,  /* the link has no tag of the API key */
	BULK_OUTCOMES
};

struct link_bulk_item {
	enum link_bulk_outcome outcome;
	/* Of an invalid item; owned. */
	struct json *problem;
	bool is_claim;
	/* Of a claim: only the slug. */
	struct link_request input;
	uint8_t claim_token_hash[DIGEST_SIZE];
	struct link link;
	struct slug_allocator_item creation;
	/* Of BULK_TAKEN. */
	struct link_conflict conflict;
	/* Of an item to create: the first item with the same slug or URL, perhaps itself. */
	/* NULL = no slug requested. */
	struct link_bulk_item *slug_first;
	struct link_bulk_item *url_first;
	/* Of the first item with a URL: */
	/* An item with this URL that has a link; NULL = none yet. */
	const struct link_bulk_item *reusable;
	/* One with this URL is already looked up, or part of this round. */
	bool is_tried;
};

struct link_bulk {
	struct request *request;
	struct link_bulk_item *items;
	size_t count;
	struct link_quota quota;
	/* The items of the current round; room for all. */
	struct slug_allocator_item **round;
	/* Of the links in the response. */
	struct link_details details;
	/* Of the steady clock. */
	int64_t deadline_us;
	/* By BULK_LINKS_PER_MINUTE; the request is answered if it has no links left. */
	bool is_counted, is_rate_limited;
};

static inline bool bulk_create_has_link(const struct link_bulk_item *item)
{
	return item->outcome == BULK_CREATED || item->outcome == BULK_FOUND ||
	       item->outcome == BULK_CLAIMED;
}

/* Finds items with the same slug or URL. Call once all items are read. */
void bulk_create_match(struct link_bulk *bulk);

/* Call before each statement. ERR_UNAVAILABLE: the transaction's deadline has passed. */
enum err bulk_create_check_deadline(const struct link_bulk *bulk) MUST_CHECK;

/*
 * Sets each pending item's outcome. In the transaction, after the claims; else as run_items. ERR_LIMIT:
 * is_rate_limited.
 */
enum err bulk_create_run(struct link_bulk *bulk, struct pg_conn *conn) MUST_CHECK;

#endif
