#include "services/links-api/links/link_conflict.h"

#include <inttypes.h>
#include <stdio.h>

enum err link_conflict_find(struct pg_conn *conn, const struct request *r, int64_t workspace_id,
                            const char *slug, const char *external_id, struct link_conflict *out)
{
	*out = (struct link_conflict){ 0 };
	enum err err = *slug ? link_find_slugs(conn, r, workspace_id, &slug, 1, &out->slug) : OK;
	return err == OK && *external_id
	               ? link_find_external_ids(conn, r, workspace_id, &external_id, 1,
	                                        &out->external_id)
	               : err;
}

#define DELETED                                                                                    \
	"belongs to your deleted link %" PRId64 "; POST /api/links/%" PRId64                       \
	"/restore brings it back"

const char *link_conflict_describe(const struct link_conflict *conflict,
                                   struct http_problem_fields *fields,
                                   char detail[static RESPONSE_DETAIL_SIZE])
{
	const struct link_find_name *slug = &conflict->slug, *id = &conflict->external_id;
	if (slug->is_deleted)
		http_problem_add_field(fields, "/slug", "slug-deleted", DELETED, slug->link_id,
		                       slug->link_id);
	else if (slug->is_used)
		http_problem_add_field(fields, "/slug", "slug-taken",
		                       "is already used; slugs are never reused");
	if (id->is_deleted)
		http_problem_add_field(fields, "/external_id", "external-id-deleted", DELETED,
		                       id->link_id, id->link_id);
	else if (id->link_id != 0)
		http_problem_add_field(fields, "/external_id", "external-id-taken",
		                       "is that of your link %" PRId64, id->link_id);
	else if (id->is_used)
		http_problem_add_field(fields, "/external_id", "external-id-taken",
		                       "is that of another link of the workspace");
	bool has_two = fields->count == 2;
	snprintf(detail, RESPONSE_DETAIL_SIZE, "Conflict: %s %s%s%s%s%s.",
	         fields->field[0].pointer + 1, fields->field[0].detail, has_two ? "; " : "",
	         has_two ? fields->field[1].pointer + 1 : "", has_two ? " " : "",
	         has_two ? fields->field[1].detail : "");
	return id->is_used ? "external-id-taken" : "slug-taken";
}

enum http_progress link_conflict_answer(const struct request *r,
                                        const struct link_conflict *conflict)
{
	struct http_problem_fields fields = { 0 };
	char detail[RESPONSE_DETAIL_SIZE];
	const char *kind = link_conflict_describe(conflict, &fields, detail);
	return http_problem_respond(r->exchange, 409, kind, detail, &fields);
}
