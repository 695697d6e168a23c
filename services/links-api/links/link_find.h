/*
 * Finds links by what else names them: a slug, also an earlier one, and the external_id that their
 * workspace gave them. One thread at a time per connection. Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_FIND_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/links/link.h"
#include "lib/postgres/pg_conn.h"

struct request;

/*
 * slug: in any case that it may have. workspace_id: also LINK_STORE_ANY_WORKSPACE. ERR_NOT_FOUND also:
 * the link is of another workspace.
 */
enum err link_find_slug(struct pg_conn *conn, int64_t workspace_id, const char *slug,
                        int64_t *id) MUST_CHECK;

/* The link of an earlier slug, of any workspace; 0 if text is none. */
enum err link_find_alias(struct pg_conn *conn, const char *text, int64_t *id) MUST_CHECK;

/* Reads the external_id of the path. ERR_NOT_FOUND: no link can have it. */
enum err link_find_read_external_id(const struct request *r,
                                    char out[static LINK_EXTERNAL_ID_SIZE]) MUST_CHECK;

/* Who has a name. */
struct link_find_name {
	bool is_used;
	/* The link of the workspace that has it, if the request sees it; else 0. */
	int64_t link_id;
	/* That link is DELETED, keeps the name, and may be restored. */
	bool is_deleted;
};

/* out has room for count. A slug is used if it clashes with a link, an alias or a tombstone. */
enum err link_find_slugs(struct pg_conn *conn, const struct request *r, int64_t workspace_id,
                         const char *const *slugs, size_t count,
                         struct link_find_name *out) MUST_CHECK;
enum err link_find_external_ids(struct pg_conn *conn, const struct request *r, int64_t workspace_id,
                                const char *const *external_ids, size_t count,
                                struct link_find_name *out) MUST_CHECK;

#endif
