#include "services/links-api/accounts/admin_params.h"

#include "lib/base/array.h"
#include "services/links-api/http/query_params.h"

enum err admin_params_parse_users(const char *query, struct admin_params_users *out,
                                  struct http_problem_fields *wrong)
{
	*out = (struct admin_params_users){ .limit = ADMIN_PARAMS_LIMIT_DEFAULT };
	struct query_param parameters[] = {
		{ .name = "q", .text = out->q, .text_size = sizeof(out->q) },
		{ .name = "page", .number = &out->page, .max = ADMIN_PARAMS_PAGE_MAX },
		{ .name = "cursor", .number = &out->after, .max = INT64_MAX },
		{ .name = "limit", .number = &out->limit, .max = ADMIN_PARAMS_LIMIT_MAX },
	};
	enum err err = query_params_read(query, parameters, ARRAY_SIZE(parameters), wrong);
	if (out->page > 0 && out->after > 0) {
		http_problem_add_field(wrong, "/cursor", "exclusive",
		                       "use page or cursor, not both");
		err = ERR_INVALID;
	}
	if (out->after == 0 && out->page == 0)
		out->page = 1;
	return err;
}

enum err admin_params_parse_audit(const char *query, struct audit_query *out,
                                  struct http_problem_fields *wrong)
{
	*out = (struct audit_query){ .limit = ADMIN_PARAMS_LIMIT_DEFAULT };
	struct query_param parameters[] = {
		{ .name = "cursor", .number = &out->before, .max = INT64_MAX },
		{ .name = "limit", .number = &out->limit, .max = ADMIN_PARAMS_LIMIT_MAX },
		{ .name = "actor_id", .number = &out->actor_id, .max = INT64_MAX },
		{ .name = "action", .text = out->action, .text_size = sizeof(out->action) },
		{ .name = "subject_type",
		  .text = out->subject_type,
		  .text_size = sizeof(out->subject_type) },
		{ .name = "subject_id", .number = &out->subject_id, .max = INT64_MAX },
	};
	return query_params_read(query, parameters, ARRAY_SIZE(parameters), wrong);
}
