/*
 * One thread at a time, as its request. Many links that are made, or claimed, in one transaction, each with an outcome
 * of its own: one that is refused takes no other with it. An item takes about 20 KB.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_BATCH_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_BATCH_H

#include <stddef.h>

#include "lib/net/json.h"
#include "lib/net/pg_conn.h"
#include "services/links-api/links/link_quota.h"
#include "services/links-api/request.h"

enum link_batch_kind {
	LINK_BATCH_CREATE, /* items are bodies of POST /api/links */
	LINK_BATCH_SYNC,   /* … or {slug, claim_token} */
};

struct link_batch;

/* items: a JSON array; each item is read here. Free it with link_batch_free. */
struct link_batch *link_batch_new(struct request *r, enum link_batch_kind kind, const struct json *items);
void link_batch_free(struct link_batch *batch);

/*
 * In the caller's transaction; after a rollback it may be called again. Afterwards each item has its outcome. How many
 * statements that takes does not depend on how many items make links, or on what they share. Errors of link_quota_read and
 * link_bulk_store_create. ERR_UNAVAILABLE also: it would take too long.
 */
enum err link_batch_write(struct link_batch *batch, struct pg_conn *conn) MUST_CHECK;

/* What is left of the user's quota after link_batch_write. */
const struct link_quota *link_batch_quota(const struct link_batch *batch);

/* The slugs of the links that were made, claimed or found: a copy for the caller to free. */
char (*link_batch_slugs(const struct link_batch *batch, size_t *count))[SLUG_SIZE];

/* [{status, link | problem}] in the order of the items. */
struct json *link_batch_results(const struct link_batch *batch);

#endif
