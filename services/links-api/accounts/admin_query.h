/*
 * Pure. Query strings of the administrators' lists, checked. All wrong parameters are named at once; one that is
 * unknown or there twice is wrong, because it could be a filter that somebody relies on.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_ADMIN_QUERY_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_ADMIN_QUERY_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/net/http_problem.h"
#include "services/links-api/accounts/audit_store.h"

#define ADMIN_QUERY_LIMIT_DEFAULT 20
#define ADMIN_QUERY_LIMIT_MAX 100
#define ADMIN_QUERY_PAGE_MAX INT64_C(1000000)
#define ADMIN_QUERY_TEXT_SIZE 256

/* ?q=&page=&limit= */
struct admin_query_users {
	char q[ADMIN_QUERY_TEXT_SIZE]; /* "" = all */
	int64_t page, limit;
};

enum err admin_query_read_users(const char *query, struct admin_query_users *out,
                                struct http_problem_fields *wrong) MUST_CHECK;

/* ?cursor=&limit=&actor_id=&action=&subject_type=&subject_id= */
enum err admin_query_read_audit(const char *query, struct audit_query *out,
                                struct http_problem_fields *wrong) MUST_CHECK;

#endif
