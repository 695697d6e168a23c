/*
 * One thread at a time, as its request. Creates or claims up to a thousand links in one
 * transaction. Each item has its own outcome: an item that fails does not affect the others. An
 * item takes about 20 KB.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_BULK_WRITE_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_BULK_WRITE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/json/json.h"
#include "lib/postgres/pg_conn.h"
#include "services/links-api/http/request.h"
#include "services/links-api/links/link_quota.h"

enum bulk_write_kind {
	BULK_WRITE_CREATE, /* items are bodies of POST /api/links */
	BULK_WRITE_SYNC,   /* … or {slug, claim_token} */
};

struct bulk_write;

/* Reads and validates all items of a JSON array; keeps none. Free it with bulk_write_free. */
struct bulk_write *bulk_write_new(struct request *r, enum bulk_write_kind kind,
                                  const struct json *items);
void bulk_write_free(struct bulk_write *bulk);

/*
 * Executes all items in the caller's transaction and sets their outcomes. After a rollback, it can
 * be called again. The number of statements does not depend on the number of links to create, or on
 * slugs and URLs that items share, unless the quota is smaller than the bulk. Errors of link_quota_read and link_bulk_store_create.
 * ERR_UNAVAILABLE also: the time limit has passed.
 */
enum err bulk_write_run(struct bulk_write *bulk, struct pg_conn *conn) MUST_CHECK;

/* True if bulk_write_run created or claimed a link; else a repeat needs no stored response. */
bool bulk_write_has_effect(const struct bulk_write *bulk);

/* True if the quota refused an item. */
bool bulk_write_is_over_quota(const struct bulk_write *bulk);

/* The user's quota after bulk_write_run. */
const struct link_quota *bulk_write_quota(const struct bulk_write *bulk);

/* The slugs of the links that were created, claimed or reused. The caller frees the copy. */
char (*bulk_write_slugs(const struct bulk_write *bulk, size_t *count))[SLUG_SIZE];

/* [{status, link | problem}] in the order of the items. */
struct json *bulk_write_results(const struct bulk_write *bulk);

#endif
