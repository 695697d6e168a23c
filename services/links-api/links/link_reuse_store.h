/*
 * One thread at a time per connection. Links that many wishes of one bulk may reuse: the table links, two statements at
 * most, however many are asked for. Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_REUSE_STORE_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_REUSE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/links/link.h"
#include "lib/net/pg_conn.h"

#define LINK_REUSE_STORE_MAX 1000

struct link_reuse_store_wish {
	const char *original_url; /* in its normal form */
	const char *slug;         /* NULL = of whatever name */
	struct link *link;        /* room for it */
	bool is_found;
};

/*
 * For each wish the owner's newest link to the destination that is ACTIVE now, as link_store_find_active. Of wishes
 * without a slug one per destination is enough: each reads all of its links. ERR_LIMIT: more than LINK_REUSE_STORE_MAX.
 */
enum err link_reuse_store_find(struct pg_conn *conn, int64_t owner_id, struct link_reuse_store_wish *wishes,
                               size_t count) MUST_CHECK;

/*
 * is_taken[i]: slugs[i] is that of a link, or was once. So it stays taken; one that is not may be at any moment.
 * ERR_LIMIT: as above.
 */
enum err link_reuse_store_find_taken(struct pg_conn *conn, const char *const *slugs, size_t count,
                                     bool *is_taken) MUST_CHECK;

#endif
