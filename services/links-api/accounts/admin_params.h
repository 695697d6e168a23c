/* Pure. The query strings of the administrators' lists, read as query_params_read does. */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_ADMIN_PARAMS_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_ADMIN_PARAMS_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/http/http_problem.h"
#include "services/links-api/http/query_params.h"
#include "services/links-api/identity/audit_store.h"

#define ADMIN_PARAMS_LIMIT_DEFAULT 20
#define ADMIN_PARAMS_LIMIT_MAX 100
#define ADMIN_PARAMS_PAGE_MAX INT64_C(1000000)

/* ?q=&page=&cursor=&limit= */
struct admin_params_users {
	/* "" = all. */
	char q[QUERY_PARAMS_TEXT_SIZE];
	/* 0 = after is given instead. */
	int64_t page;
	/* The id of the last account of the previous page; 0 = page is given. */
	int64_t after;
	int64_t limit;
};

enum err admin_params_parse_users(const char *query, struct admin_params_users *out,
                                  struct http_problem_fields *wrong) MUST_CHECK;

/* ?cursor=&limit=&actor_id=&action=&subject_type=&subject_id= */
enum err admin_params_parse_audit(const char *query, struct audit_query *out,
                                  struct http_problem_fields *wrong) MUST_CHECK;

#endif
