/* HTTP handlers for administrators: user accounts and the audit log; ctx is the struct request. */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_ADMIN_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_ADMIN_HANDLERS_H

#include "lib/http/http_problem.h"
#include "lib/http/http_server.h"
#include "lib/json/json.h"
#include "services/links-api/identity/user_store.h"

#define ADMIN_HANDLERS_LINKS_PER_DAY_MAX INT64_C(1000000000)

/*
 * Pure. Reads a change of an account: {blocked?, role?, links_per_day? (null: the default)}.
 * ERR_INVALID: wrong lists every invalid member.
 */
enum err admin_handlers_read_user_change(const struct json *object, struct user_change *out,
                                         struct http_problem_fields *wrong) MUST_CHECK;

/* GET /api/admin/users?q=&page=&limit= → 200 {users, pagination}, 400 */
enum http_progress admin_handlers_users(void *ctx, struct http_exchange *x);

/*
 * PATCH /api/admin/users/{id} {blocked?, role?, links_per_day?} → 200 {user}, 400, 404, 409
 * (blocking or demoting oneself)
 */
enum http_progress admin_handlers_change_user(void *ctx, struct http_exchange *x);

/* GET /api/admin/audit?cursor=&limit=&actor_id=&action=&subject_type=&subject_id= → 200 {entries,
 * next_cursor}, 400 */
enum http_progress admin_handlers_audit(void *ctx, struct http_exchange *x);

#endif
