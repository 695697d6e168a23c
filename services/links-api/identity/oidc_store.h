/*
 * Who logs in by which provider: the tables identities and oidc_logins. One thread at a time per
 * connection. Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_OIDC_STORE_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_OIDC_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/digest.h"
#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"
#include "services/links-api/identity/oidc_config.h"

struct oidc_identity {
	int64_t id;
	int64_t user_id;
};

/*
 * Uses a login up (oidc_login.h). ERR_CONFLICT: it was used before. Deletes what has expired, so the
 * table holds the logins of minutes.
 */
enum err oidc_store_use_login(struct pg_conn *conn,
                              const uint8_t hash[static DIGEST_SIZE]) MUST_CHECK;

/* Finds it by issuer and subject, and records its use. ERR_NOT_FOUND: nobody has it. */
enum err oidc_store_find(struct pg_conn *conn, const struct oidc_provider *provider,
                         const char *subject, struct oidc_identity *out) MUST_CHECK;

/* Ties it to a person. ERR_CONFLICT: somebody has it. */
enum err oidc_store_add(struct pg_conn *conn, const struct oidc_provider *provider,
                        const char *subject, int64_t user_id, struct oidc_identity *out) MUST_CHECK;

/* Whether this session of this person goes on. ERR_NOT_FOUND: it has ended. */
enum err oidc_store_find_session(struct pg_conn *conn, int64_t session_id,
                                 int64_t user_id) MUST_CHECK;

#endif
