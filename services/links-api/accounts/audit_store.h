/*
 * One thread at a time per connection. Who changed what: the table audit_log. An entry is written in the transaction of
 * the change that it tells of, so that there is none without the other. Numbers and names of fields: never an address,
 * a token, a password, or a URL with its query. Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_AUDIT_STORE_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_AUDIT_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/net/json.h"
#include "lib/net/pg_conn.h"

#define AUDIT_STORE_USER "user"
#define AUDIT_STORE_KEY "key"
#define AUDIT_STORE_HOST "host"

#define AUDIT_STORE_SUBJECTS_MAX 1000
#define AUDIT_STORE_DETAILS_BYTES_MAX 4096

struct audit_entry {
	int64_t actor_id;         /* a user; 0 = nobody who had logged in, or the operator */
	int64_t key_id;           /* the API key that he came with; 0 = a login */
	const char *action;       /* "link.create" */
	const char *subject_type; /* "link" */
	int64_t subject_id;
	const char *request_id;     /* NULL = none */
	const struct json *details; /* an object; NULL = {} */
};

/* ERR_LIMIT: details of more than AUDIT_STORE_DETAILS_BYTES_MAX. */
enum err audit_store_add(struct pg_conn *conn, const struct audit_entry *entry) MUST_CHECK;

/* One entry for each of the subjects (entry's own subject_id does not count). ERR_LIMIT: more than the limits say. */
enum err audit_store_add_many(struct pg_conn *conn, const struct audit_entry *entry, const int64_t *subject_ids,
                              size_t count) MUST_CHECK;

#define AUDIT_QUERY_TEXT_SIZE 64
#define AUDIT_QUERY_LIMIT_MAX 100

/* Which entries; 0 and "" = whatever. */
struct audit_query {
	int64_t before; /* entries with lower ids */
	int64_t limit;  /* 1 to AUDIT_QUERY_LIMIT_MAX */
	int64_t actor_id;
	char action[AUDIT_QUERY_TEXT_SIZE];
	char subject_type[AUDIT_QUERY_TEXT_SIZE];
	int64_t subject_id;
};

/*
 * The newest first, as JSON: [{id, at, actor_id, key_id, action, subject_type, subject_id, request_id, details}]; the
 * caller owns it. last_id: of the last of them, if there are as many as limit says: more may follow. 0 if not.
 */
enum err audit_store_list(struct pg_conn *conn, const struct audit_query *query, struct json **entries,
                          int64_t *last_id) MUST_CHECK;

#endif
