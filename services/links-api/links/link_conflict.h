/*
 * One thread at a time, as its request. The names of a new or changed link that are already used: its
 * slug, its external_id, or both. One answer tells them all.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_CONFLICT_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_CONFLICT_H

#include "lib/http/http_problem.h"
#include "lib/http/http_server.h"
#include "services/links-api/http/request.h"
#include "services/links-api/http/response.h"
#include "services/links-api/links/link_find.h"

struct link_conflict {
	struct link_find_name slug, external_id;
};

/* "" = has none. Errors of pg_conn_query pass through. */
enum err link_conflict_find(struct pg_conn *conn, const struct request *r, int64_t workspace_id,
                            const char *slug, const char *external_id,
                            struct link_conflict *out) MUST_CHECK;

static inline bool link_conflict_exists(const struct link_conflict *conflict)
{
	return conflict->slug.is_used || conflict->external_id.is_used;
}

/* What a 409 says of a conflict that exists. Returns the kind of the problem. */
const char *link_conflict_describe(const struct link_conflict *conflict,
                                   struct http_problem_fields *fields,
                                   char detail[static RESPONSE_DETAIL_SIZE]);

enum http_progress link_conflict_answer(const struct request *r,
                                        const struct link_conflict *conflict);

#endif
