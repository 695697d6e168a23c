/*
 * The audit log: who changed what (table audit_log). An entry is written in the transaction of its
 * change, so neither exists without the other. Details hold numbers and names of fields. They never
 * hold an e-mail address, a token, a password or a URL with its query. One thread at a time per
 * connection. Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_AUDIT_STORE_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_AUDIT_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/json/json.h"
#include "lib/postgres/pg_conn.h"

#define AUDIT_STORE_USER "user"
#define AUDIT_STORE_WORKSPACE "workspace"
#define AUDIT_STORE_KEY "key"
#define AUDIT_STORE_HOST "host"
#define AUDIT_STORE_SESSION "session"
#define AUDIT_STORE_SHARE "share"
#define AUDIT_STORE_INVITATION "invitation"
#define AUDIT_STORE_REPORT "report"
/* Of which there is one; its id is 0. */
#define AUDIT_STORE_INSTANCE "instance"

#define AUDIT_STORE_DETAILS_BYTES_MAX 4096

struct request;

struct audit_entry {
	/* In which it happened; 0 = in none. */
	int64_t workspace_id;
	/* A user; 0 = an anonymous caller or the operator. */
	int64_t actor_id;
	/* The API key that was used; 0 = an access token or a session. */
	int64_t key_id;
	/* "link.create". */
	const char *action;
	/* "link". */
	const char *subject_type;
	int64_t subject_id;
	/* NULL = none. */
	const char *request_id;
	/* An object; NULL = {} */
	const struct json *details;
};

/* ERR_LIMIT: details exceed AUDIT_STORE_DETAILS_BYTES_MAX. */
enum err audit_store_add(struct pg_conn *conn, const struct audit_entry *entry) MUST_CHECK;

/* The caller of r did action to the subject. details are borrowed and may be NULL. */
enum err audit_store_record(const struct request *r, struct pg_conn *conn, const char *action,
                            const char *subject_type, int64_t subject_id,
                            const struct json *details) MUST_CHECK;

/*
 * Deletes something of the caller's in a transaction of its own, and records that. sql deletes row $1 of
 * $2, the workspace or the user to which it belongs, and returns the link that the details name, or 0. If
 * the request has tags, they are $3. ERR_NOT_FOUND: it returns no row.
 */
enum err audit_store_delete(const struct request *r, int64_t id, int64_t belongs_to,
                            const char *sql, const char *action,
                            const char *subject_type) MUST_CHECK;

#define AUDIT_QUERY_TEXT_SIZE 64
#define AUDIT_QUERY_LIMIT_MAX 100

/* Filter and page; 0 and "" match everything. */
struct audit_query {
	/* Only entries with lower ids. */
	int64_t before;
	/* 1 to AUDIT_QUERY_LIMIT_MAX. */
	int64_t limit;
	/* What happened in this workspace. */
	int64_t workspace_id;
	int64_t actor_id;
	char action[AUDIT_QUERY_TEXT_SIZE];
	char subject_type[AUDIT_QUERY_TEXT_SIZE];
	int64_t subject_id;
};

/*
 * Newest first, as JSON: [{id, at, actor_id, actor_email, key_id, action, subject_type, subject_id,
 * subject_name, workspace_id, workspace_name, request_id, details}]. Names are those of now. The caller
 * owns the result. last_id: the id of the last entry if the page is full, so that more may follow;
 * otherwise 0.
 */
enum err audit_store_list(struct pg_conn *conn, const struct audit_query *query,
                          struct json **entries, int64_t *last_id) MUST_CHECK;

#endif
