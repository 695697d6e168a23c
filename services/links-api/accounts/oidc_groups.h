/*
 * What the groups of a person at their provider give here (docs/single-sign-on.md): the role of an
 * instance administrator, and roles in workspaces. One thread at a time per connection. Errors of
 * pg_conn_query pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_OIDC_GROUPS_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_OIDC_GROUPS_H

#include "lib/base/err.h"
#include "lib/json/json.h"
#include "lib/postgres/pg_conn.h"
#include "services/links-api/http/request.h"
#include "services/links-api/identity/oidc_config.h"
#include "services/links-api/identity/oidc_store.h"

/*
 * Inside the transaction of a login: gives and takes, and records each change in the audit log. What
 * somebody gave by hand stays: groups take only what groups gave. Workspaces that do not exist any
 * more, or are full, are left out.
 */
enum err oidc_groups_apply(struct pg_conn *conn, const struct request *r,
                           const struct oidc_identity *identity,
                           const struct oidc_provider *provider,
                           const struct json *claims) MUST_CHECK;

#endif
