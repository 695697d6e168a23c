#include "services/links-api/route_table.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/number.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/identity/authentication.h"
#include "services/links-api/links/link_quota.h"

/* Longer than every path in the table, and than the longest tag in a path. */
#define PATH_SIZE 1024

/*
 * One row per endpoint; rows with the same path are adjacent. The last column: the handler reads
 * the query string. Document pages ignore unknown parameters, because links from elsewhere add
 * their own. A list of links becomes heavy if it searches.
 */
#define MEMORY HTTP_ROUTER_MEMORY
#define BLOCKS HTTP_ROUTER_BLOCKS
#define HEAVY HTTP_ROUTER_HEAVY
/* clang-format off */
static const struct http_route table[] = {
	{ HTTP_GET,    "/api/instance",            instance_handlers_get,   PERMISSION_NONE,         MEMORY, false },
	{ HTTP_POST,   "/api/auth/register",       auth_handlers_register,  PERMISSION_NONE,         BLOCKS, false },
	{ HTTP_POST,   "/api/auth/login",          auth_handlers_login,     PERMISSION_NONE,         BLOCKS, false },
	{ HTTP_POST,   "/api/auth/session",        auth_handlers_start_session, PERMISSION_NONE,     BLOCKS, false },
	{ HTTP_GET,    "/api/auth/session",        auth_handlers_get_session, PERMISSION_NONE,     BLOCKS, false },
	{ HTTP_DELETE, "/api/auth/session",        session_handle_end,      PERMISSION_ACCOUNT,      BLOCKS, false },
	{ HTTP_GET,    "/api/auth/sessions",       session_handle_list,     PERMISSION_ACCOUNT,      BLOCKS, false },
	{ HTTP_DELETE, "/api/auth/sessions/{id}",  session_handle_delete,   PERMISSION_ACCOUNT,      BLOCKS, false },
	{ HTTP_GET,    "/api/auth/me",             auth_handlers_me,        PERMISSION_ACCOUNT,      BLOCKS, false },
	{ HTTP_PATCH,  "/api/auth/me",             account_handlers_change, PERMISSION_ACCOUNT,      BLOCKS, false },
	{ HTTP_DELETE, "/api/auth/me",             account_handlers_delete, PERMISSION_ACCOUNT,      BLOCKS, false },
	{ HTTP_GET,    "/api/auth/oidc/{provider}", oidc_handlers_start,    PERMISSION_NONE,         BLOCKS, true },
	{ HTTP_GET,    "/api/auth/oidc/{provider}/callback", oidc_handlers_callback, PERMISSION_NONE, BLOCKS, true },
	{ HTTP_GET,    "/api/auth/identities",     oidc_identity_handlers_list, PERMISSION_ACCOUNT,  BLOCKS, false },
	{ HTTP_DELETE, "/api/auth/identities/{id}", oidc_identity_handlers_delete, PERMISSION_ACCOUNT, BLOCKS, false },
	{ HTTP_POST,   "/api/auth/logout",         oidc_handlers_logout,    PERMISSION_ACCOUNT,      BLOCKS, false },
	{ HTTP_POST,   "/api/auth/password",       account_handlers_set_password, PERMISSION_ACCOUNT, BLOCKS, false },
	{ HTTP_POST,   "/api/auth/password-reset", password_reset_use,      PERMISSION_NONE,         BLOCKS, false },
	{ HTTP_POST,   "/api/auth/password-reset/request", password_reset_request, PERMISSION_NONE, BLOCKS, false },
	{ HTTP_POST,   "/api/auth/email",          email_change_request,    PERMISSION_ACCOUNT,      BLOCKS, false },
	{ HTTP_POST,   "/api/auth/email/confirm",  email_change_confirm,    PERMISSION_ACCOUNT,      BLOCKS, false },
	{ HTTP_GET,    "/api/auth/second-factor",  second_factor_handlers_get, PERMISSION_ACCOUNT,   BLOCKS, false },
	{ HTTP_POST,   "/api/auth/second-factor",  second_factor_handlers_offer, PERMISSION_ACCOUNT, BLOCKS, false },
	{ HTTP_DELETE, "/api/auth/second-factor",  second_factor_handlers_remove, PERMISSION_ACCOUNT, BLOCKS, false },
	{ HTTP_POST,   "/api/auth/second-factor/confirm", second_factor_handlers_confirm, PERMISSION_ACCOUNT, BLOCKS, false },
	{ HTTP_POST,   "/api/auth/second-factor/recovery-codes", second_factor_handlers_renew, PERMISSION_ACCOUNT, BLOCKS, false },
	{ HTTP_GET,    "/api/workspaces",          workspace_handlers_list, PERMISSION_ACCOUNT,      BLOCKS, false },
	{ HTTP_POST,   "/api/workspaces",          workspace_handlers_create, PERMISSION_ACCOUNT,    BLOCKS, false },
	{ HTTP_GET,    "/api/workspace",           workspace_handlers_get,  PERMISSION_WORKSPACE_READ, BLOCKS, false },
	{ HTTP_PATCH,  "/api/workspace",           workspace_handlers_change, PERMISSION_WORKSPACE_WRITE, BLOCKS, false },
	{ HTTP_DELETE, "/api/workspace",           workspace_handlers_delete, PERMISSION_WORKSPACE_OWN, BLOCKS, false },
	{ HTTP_POST,   "/api/workspace/restore",   workspace_handlers_restore, PERMISSION_WORKSPACE_OWN, BLOCKS, false },
	{ HTTP_GET,    "/api/members",             member_handlers_list,    PERMISSION_WORKSPACE_READ, BLOCKS, false },
	{ HTTP_PATCH,  "/api/members/{id}",        member_handlers_change,  PERMISSION_WORKSPACE_WRITE, BLOCKS, false },
	{ HTTP_DELETE, "/api/members/{id}",        member_handlers_delete,  PERMISSION_WORKSPACE_LEAVE, BLOCKS, false },
	{ HTTP_POST,   "/api/invitations/look",    invitation_handlers_look, PERMISSION_NONE,        BLOCKS, false },
	{ HTTP_POST,   "/api/invitations/accept",  invitation_handlers_accept, PERMISSION_ACCOUNT,   BLOCKS, false },
	{ HTTP_GET,    "/api/invitations",         invitation_handlers_list, PERMISSION_WORKSPACE_AUDIT, BLOCKS, false },
	{ HTTP_POST,   "/api/invitations",         invitation_handlers_create, PERMISSION_WORKSPACE_WRITE, BLOCKS, false },
	{ HTTP_DELETE, "/api/invitations/{id}",    invitation_handlers_delete, PERMISSION_WORKSPACE_WRITE, BLOCKS, false },
	{ HTTP_GET,    "/api/audit",               admin_handlers_audit,    PERMISSION_WORKSPACE_AUDIT, BLOCKS, true },
	{ HTTP_POST,   "/api/keys",                api_key_handlers_create, PERMISSION_KEYS_WRITE,   BLOCKS, false },
	{ HTTP_GET,    "/api/keys",                api_key_handlers_list,   PERMISSION_KEYS_READ,    BLOCKS, false },
	{ HTTP_PATCH,  "/api/keys/{id}",           api_key_handlers_change, PERMISSION_KEYS_WRITE,   BLOCKS, false },
	{ HTTP_DELETE, "/api/keys/{id}",           api_key_handlers_delete, PERMISSION_KEYS_WRITE,   BLOCKS, false },
	{ HTTP_POST,   "/api/keys/{id}/rotate",    api_key_handlers_rotate, PERMISSION_KEYS_WRITE,   BLOCKS, false },
	{ HTTP_POST,   "/api/shares",              share_handlers_create,   PERMISSION_SHARES_WRITE,      BLOCKS, false },
	{ HTTP_GET,    "/api/shares",              share_handle_list,       PERMISSION_SHARES_READ,      BLOCKS, false },
	{ HTTP_GET,    "/api/shares/{id}",         share_edit_handle_get,   PERMISSION_SHARES_READ,       BLOCKS, false },
	{ HTTP_PATCH,  "/api/shares/{id}",         share_edit_handle_change, PERMISSION_SHARES_WRITE,     BLOCKS, false },
	{ HTTP_DELETE, "/api/shares/{id}",         share_handle_delete,     PERMISSION_SHARES_WRITE,      BLOCKS, false },
	{ HTTP_GET,    "/api/shares/{id}/logo",    share_handle_logo,       PERMISSION_SHARES_READ,       BLOCKS, false },
	{ HTTP_POST,   "/api/shared/access",       share_handlers_access,   PERMISSION_NONE,         BLOCKS, false },
	{ HTTP_GET,    "/api/shared",              share_handle_get,        PERMISSION_SHARED,       BLOCKS, false },
	{ HTTP_GET,    "/api/shared/logo",         share_handle_logo,       PERMISSION_SHARED,       BLOCKS, false },
	{ HTTP_GET,    "/api/shared/stats/summary", stats_handlers_summary, PERMISSION_SHARED, HEAVY, true },
	{ HTTP_GET,    "/api/shared/stats/timeseries", stats_handlers_series, PERMISSION_SHARED, HEAVY, true },
	{ HTTP_GET,    "/api/shared/stats/top",    stats_handlers_top, PERMISSION_SHARED, HEAVY, true },
	{ HTTP_GET,    "/api/shared/stats/{dimension}", stats_handlers_dimension, PERMISSION_SHARED, HEAVY, true },
	{ HTTP_GET,    "/api/admin/users",         admin_handlers_users,    PERMISSION_ADMIN_READ,        BLOCKS, true },
	{ HTTP_GET,    "/api/admin/users/{id}",    workspace_handlers_of_user, PERMISSION_ADMIN_READ,     BLOCKS, false },
	{ HTTP_PATCH,  "/api/admin/users/{id}",    admin_handlers_change_user, PERMISSION_ADMIN_WRITE,     BLOCKS, false },
	{ HTTP_DELETE, "/api/admin/users/{id}",    admin_handlers_delete_user, PERMISSION_ADMIN_WRITE,     BLOCKS, false },
	{ HTTP_POST,   "/api/admin/users/{id}/password-reset", password_reset_create, PERMISSION_ADMIN_WRITE, BLOCKS, false },
	{ HTTP_DELETE, "/api/admin/users/{id}/second-factor", second_factor_handlers_remove_of_user, PERMISSION_ADMIN_WRITE, BLOCKS, false },
	{ HTTP_GET,    "/api/admin/audit",         admin_handlers_audit,    PERMISSION_ADMIN_READ,        BLOCKS, true },
	{ HTTP_GET,    "/api/admin/invitations",   invitation_handlers_list, PERMISSION_ADMIN_READ,  BLOCKS, false },
	{ HTTP_POST,   "/api/admin/invitations",   invitation_handlers_create, PERMISSION_ADMIN_WRITE, BLOCKS, false },
	{ HTTP_DELETE, "/api/admin/invitations/{id}", invitation_handlers_delete, PERMISSION_ADMIN_WRITE, BLOCKS, false },
	{ HTTP_POST,   "/api/links/public",        link_create_public,      PERMISSION_NONE,         BLOCKS, false },
	{ HTTP_POST,   "/api/links/bulk",          link_bulk_create,        PERMISSION_LINKS_WRITE,  HEAVY, false },
	{ HTTP_POST,   "/api/links/sync",          link_bulk_sync,          PERMISSION_LINKS_WRITE,  HEAVY, false },
	{ HTTP_POST,   "/api/links/move",          link_move,               PERMISSION_LINKS_MOVE,   HEAVY, false },
	{ HTTP_POST,   "/api/links",               link_create_own,         PERMISSION_LINKS_WRITE,  BLOCKS, false },
	{ HTTP_GET,    "/api/links",               link_list_handlers_get,  PERMISSION_LINKS_READ,   BLOCKS, true },
	{ HTTP_PATCH,  "/api/links",               link_list_handlers_patch, PERMISSION_LINKS_WRITE,  HEAVY, true },
	{ HTTP_DELETE, "/api/links",               link_list_handlers_delete, PERMISSION_LINKS_WRITE,  HEAVY, true },
	{ HTTP_GET,    "/api/links/quota",         link_quota_get,          PERMISSION_LINKS_READ,   BLOCKS, false },
	{ HTTP_GET,    "/api/links/by-slug/{slug...}", link_find_by_slug,   PERMISSION_LINKS_READ,   BLOCKS, false },
	{ HTTP_GET,    "/api/slugs/{slug...}",     link_find_slug_state,    PERMISSION_LINKS_WRITE,  BLOCKS, false },
	{ HTTP_GET,    "/api/links/by-external-id/{external_id...}", link_find_by_external_id, PERMISSION_LINKS_READ, BLOCKS, false },
	{ HTTP_PUT,    "/api/links/by-external-id/{external_id...}", link_upsert, PERMISSION_LINKS_WRITE, BLOCKS, false },
	{ HTTP_GET,    "/api/links/{id}",          link_handlers_get,       PERMISSION_LINKS_READ,   BLOCKS, false },
	{ HTTP_PATCH,  "/api/links/{id}",          link_handlers_patch,     PERMISSION_LINKS_WRITE,  BLOCKS, false },
	{ HTTP_DELETE, "/api/links/{id}",          link_handlers_delete,    PERMISSION_LINKS_WRITE,  BLOCKS, true },
	{ HTTP_POST,   "/api/links/{id}/restore",  link_handlers_restore,   PERMISSION_LINKS_WRITE,  BLOCKS, false },
	{ HTTP_GET,    "/api/links/{id}/aliases",  link_handlers_list_aliases, PERMISSION_LINKS_READ, BLOCKS, false },
	{ HTTP_DELETE, "/api/links/{id}/aliases/{slug...}", link_handlers_delete_alias, PERMISSION_LINKS_WRITE, BLOCKS, false },
	{ HTTP_GET,    "/api/links/{id}/history",  link_history_get,        PERMISSION_LINKS_READ,   BLOCKS, true },
	{ HTTP_GET,    "/api/links/{id}/stats",    stats_handlers_summary,     PERMISSION_STATS_READ,   HEAVY, true },
	{ HTTP_GET,    "/api/links/{id}/stats/timeseries", stats_handlers_series, PERMISSION_STATS_READ, HEAVY, true },
	{ HTTP_GET,    "/api/links/{id}/stats/{dimension}", stats_handlers_dimension, PERMISSION_STATS_READ, HEAVY, true },
	{ HTTP_GET,    "/api/links/{id}/qr",       qr_handlers_get,         PERMISSION_LINKS_READ,   BLOCKS, true },
	{ HTTP_GET,    "/api/links/{id}/visits",   visit_export_list,       PERMISSION_VISITS_READ,   HEAVY, true },
	{ HTTP_GET,    "/api/visits",              visit_export_list,       PERMISSION_VISITS_READ,  HEAVY, true },
	{ HTTP_POST,   "/api/link-decisions",      link_tester_decide,      PERMISSION_LINKS_READ,   BLOCKS, false },
	{ HTTP_POST,   "/api/page-titles",         title_handlers_read,      PERMISSION_LINKS_WRITE,  BLOCKS, false },
	{ HTTP_GET,    "/api/tags",                tag_handlers_list,       PERMISSION_LINKS_READ,   HEAVY, false },
	{ HTTP_PATCH,  "/api/tags/{name...}",      tag_handlers_patch,      PERMISSION_LINKS_WRITE,  HEAVY, false },
	{ HTTP_DELETE, "/api/tags/{name...}",      tag_handlers_delete,     PERMISSION_LINKS_WRITE,  HEAVY, false },
	{ HTTP_GET,    "/api/utm-templates",       utm_template_list,       PERMISSION_LINKS_READ,   BLOCKS, false },
	{ HTTP_PUT,    "/api/utm-templates/{name...}", utm_template_put,    PERMISSION_LINKS_WRITE,  BLOCKS, false },
	{ HTTP_DELETE, "/api/utm-templates/{name...}", utm_template_delete, PERMISSION_LINKS_WRITE,  BLOCKS, false },
	{ HTTP_GET,    "/api/live",                live_handlers_get,       PERMISSION_VISITS_READ,   BLOCKS, false },
	{ HTTP_GET,    "/api/stats",               stats_handlers_platform, PERMISSION_NONE,         BLOCKS, false },
	{ HTTP_GET,    "/api/stats/top",           stats_handlers_top,      PERMISSION_STATS_READ,   HEAVY, true },
	{ HTTP_GET,    "/api/stats/summary",       stats_handlers_summary,  PERMISSION_STATS_READ,   HEAVY, true },
	{ HTTP_GET,    "/api/stats/timeseries",    stats_handlers_series, PERMISSION_STATS_READ, HEAVY, true },
	{ HTTP_GET,    "/api/stats/{dimension}",   stats_handlers_dimension, PERMISSION_STATS_READ, HEAVY, true },
	{ HTTP_GET,    "/api/admin/hosts",         host_handlers_list,      PERMISSION_ADMIN_READ,        BLOCKS, false },
	{ HTTP_POST,   "/api/admin/hosts",         host_handlers_create,    PERMISSION_ADMIN_WRITE,        BLOCKS, false },
	{ HTTP_DELETE, "/api/admin/hosts/{id}",    host_handlers_delete,    PERMISSION_ADMIN_WRITE,        BLOCKS, false },
	{ HTTP_GET,    "/api/admin/mail",          mail_handlers_list,      PERMISSION_ADMIN_READ,        BLOCKS, false },
	{ HTTP_POST,   "/api/admin/mail-test",     mail_handlers_test,      PERMISSION_ADMIN_WRITE,        BLOCKS, false },
	{ HTTP_GET,    "/api/admin/reports",       report_list_get,    PERMISSION_ADMIN_READ,   BLOCKS, true },
	{ HTTP_PATCH,  "/api/admin/reports/{id}",  report_list_patch,  PERMISSION_ADMIN_WRITE,  BLOCKS, false },
	{ HTTP_PUT,    "/api/admin/links/{id}/block", link_block_put,       PERMISSION_ADMIN_WRITE,  BLOCKS, false },
	{ HTTP_DELETE, "/api/admin/links/{id}/block", link_block_delete,    PERMISSION_ADMIN_WRITE,  BLOCKS, false },
	{ HTTP_GET,    "/api/admin/app-documents/{name}", app_document_handlers_get, PERMISSION_ADMIN_READ, BLOCKS, false },
	{ HTTP_PUT,    "/api/admin/app-documents/{name}", app_document_handlers_put, PERMISSION_ADMIN_WRITE, BLOCKS, false },
	{ HTTP_DELETE, "/api/admin/app-documents/{name}", app_document_handlers_delete, PERMISSION_ADMIN_WRITE, BLOCKS, false },
	{ HTTP_GET,    "/api/admin/health",        health_get,              PERMISSION_ADMIN_READ,        BLOCKS, false },
	{ HTTP_GET,    "/assets/{file}",           report_handlers_asset,   PERMISSION_NONE,         MEMORY, true },
	{ HTTP_GET,    "/report",                  report_handlers_form,    PERMISSION_NONE,         MEMORY, true },
	{ HTTP_POST,   "/report",                  report_handlers_create,  PERMISSION_NONE,         BLOCKS, true },
	{ HTTP_GET,    "/openapi.json",            document_description,    PERMISSION_NONE,   MEMORY, true },
	{ HTTP_GET,    "/docs",                    document_reader,         PERMISSION_NONE,       MEMORY, true },
	{ HTTP_GET,    "/docs/runbook/{title}",   document_runbook,        PERMISSION_NONE,       MEMORY, true },
	{ HTTP_GET,    "/docs/{file}",             document_file,           PERMISSION_NONE,       MEMORY, true },
	{ HTTP_GET,    "/",                        document_redirect,      PERMISSION_NONE,     MEMORY, true },
	{ HTTP_GET,    "/app",                     document_redirect,      PERMISSION_NONE,     MEMORY, true },
	{ HTTP_GET,    "/app/{path...}",           document_dashboard,           PERMISSION_NONE,       MEMORY, true },
	{ HTTP_GET,    "/problems",                document_problems,       PERMISSION_NONE,       MEMORY, true },
	{ HTTP_GET,    "/problems/{kind}",         document_problem,        PERMISSION_NONE,       MEMORY, true },
};
/* clang-format on */
#define TABLE_COUNT ARRAY_SIZE(table)

const struct http_route *route_table_rows(size_t *count)
{
	*count = TABLE_COUNT;
	return table;
}

/*
 * The rows whose pattern equals the path literally. If there are any, no {name} pattern may match
 * it, whatever the method.
 */
static const struct http_route *literal_rows(const char *path, size_t *count)
{
	*count = 0;
	for (size_t i = 0; i < TABLE_COUNT; i++) {
		if (strcmp(table[i].pattern, path) != 0)
			continue;
		while (i + *count < TABLE_COUNT && strcmp(table[i + *count].pattern, path) == 0)
			(*count)++;
		return &table[i];
	}
	*count = TABLE_COUNT;
	return table;
}

/*
 * The path without the workspace that it names, in out if it names one: /api/workspaces/7/links is
 * /api/links, and /api/workspaces/7 is /api/workspace. NULL: what it names cannot be one.
 * *workspace_id: 0 = none.
 */
static const char *take_workspace(const char *path, char out[static PATH_SIZE],
                                  int64_t *workspace_id)
{
	static const char prefix[] = "/api/workspaces/";
	char digits[NUMBER_TEXT_SIZE];
	*workspace_id = 0;
	if (strncmp(path, prefix, strlen(prefix)) != 0)
		return path;
	const char *id = path + strlen(prefix);
	size_t len = strcspn(id, "/");
	snprintf(digits, sizeof(digits), "%.*s", (int)len, id);
	if (strlen(path) >= PATH_SIZE || len >= sizeof(digits) || digits[0] == '0' ||
	    number_parse(digits, 1, INT64_MAX, workspace_id) != OK)
		return NULL;
	snprintf(out, PATH_SIZE, "/api%s", id[len] ? id + len : "/workspace");
	return out;
}

enum err route_table_find(enum http_method method, const char *path, struct http_match *match,
                          int64_t *workspace_id)
{
	static const char alias[] = "/api/urls";
	const size_t alias_len = sizeof(alias) - 1;
	char bare[PATH_SIZE], renamed[PATH_SIZE];
	path = take_workspace(path, bare, workspace_id);
	if (!path)
		return ERR_NOT_FOUND;
	bool is_alias = strncmp(path, alias, alias_len) == 0 &&
	                (path[alias_len] == '\0' || path[alias_len] == '/');
	if (is_alias && strlen(path) < sizeof(renamed) - 1) {
		snprintf(renamed, sizeof(renamed), "/api/links%s", path + alias_len);
		path = renamed;
	}
	size_t count;
	const struct http_route *rows = literal_rows(path, &count);
	enum err err = http_router_find(rows, count, method, path, match);
	bool is_foreign = *workspace_id && err == OK &&
	                  authentication_least_role(match->route->right) == WORKSPACE_STRANGER;
	return is_foreign ? ERR_NOT_FOUND : err;
}
