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

/* Follows the name of the field. */
#define LINK_FIND_EXTERNAL_ID_TAKEN "is the one of another link of the workspace"

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

struct link_find_external {
	/* 0: no link of the workspace has the external_id. */
	int64_t id;
	/* The link is DELETED, keeps its external_id, and the request may restore it. */
	bool is_deleted;
};

/* ERR_NOT_FOUND: no link has it. */
enum err link_find_external_id(struct pg_conn *conn, const struct request *r,
                               const char *external_id, struct link_find_external *out) MUST_CHECK;

/* Of several; out has room for count. */
enum err link_find_external_ids(struct pg_conn *conn, const struct request *r,
                                const char *const *external_ids, size_t count,
                                struct link_find_external *out) MUST_CHECK;

#endif
