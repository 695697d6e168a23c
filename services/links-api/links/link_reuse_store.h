/*
 * One thread at a time per connection. Finds links to reuse, in one statement however many are
 * wanted: those that a request with these tags (struct request) sees; NULL = all. Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_REUSE_STORE_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_REUSE_STORE_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/links/link.h"
#include "lib/postgres/pg_conn.h"

#define LINK_REUSE_STORE_MAX 1000

struct link_reuse_store_lookup {
	/* Normalized. */
	const char *original_url;
	/* NULL = any slug. */
	const char *slug;
	/* Receives the link. */
	struct link *link;
	bool is_found;
};

/*
 * Finds for each lookup the workspace's newest link to the destination that is ACTIVE now; a
 * SCHEDULED link is not. Nor is one that is blocked or has extras beside forwarding, which may lead
 * elsewhere. Pass at most one lookup without a slug per destination: each reads all links to it.
 * ERR_LIMIT: count exceeds LINK_REUSE_STORE_MAX.
 */
enum err link_reuse_store_find(struct pg_conn *conn, int64_t workspace_id, const char *tags,
                               struct link_reuse_store_lookup *lookups, size_t count) MUST_CHECK;

#endif
