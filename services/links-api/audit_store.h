/*
 * One thread at a time per connection. Who changed what: the table audit_log. An entry is written in the transaction of
 * the change that it tells of, so that there is none without the other. Numbers and names of fields: never an address,
 * a token, a password, or a URL with its query. Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_AUDIT_STORE_H
#define WAYMARK_SERVICES_LINKS_API_AUDIT_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/net/json.h"
#include "lib/net/pg_conn.h"

#define AUDIT_STORE_USER "user"
#define AUDIT_STORE_KEY "key"

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

#endif
