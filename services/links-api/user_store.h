/*
 * One thread at a time per connection. Accounts in PostgreSQL: the table users. Addresses are compared without regard
 * to case. Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_USER_STORE_H
#define WAYMARK_SERVICES_LINKS_API_USER_STORE_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/net/pg_conn.h"
#include "services/links-api/password.h"
#include "services/links-api/user_role.h"

#define USER_EMAIL_MAX 254
#define USER_EMAIL_SIZE (USER_EMAIL_MAX + 1)
#define USER_NAME_CHARS_MAX 100
#define USER_NAME_SIZE (USER_NAME_CHARS_MAX * 4 + 1)

struct user {
	int64_t id;
	char email[USER_EMAIL_SIZE];
	char name[USER_NAME_SIZE];
	enum user_role role;
	int64_t created_at_us;
};

/* ERR_CONFLICT: there is an account with that address. */
enum err user_store_create(struct pg_conn *conn, const char *email, const char *name, const char *password_hash,
                           struct user *out) MUST_CHECK;

/* ERR_NOT_FOUND: no such account. */
enum err user_store_get(struct pg_conn *conn, int64_t id, struct user *out) MUST_CHECK;

/* For a login. ERR_NOT_FOUND: no account with that address. */
enum err user_store_find(struct pg_conn *conn, const char *email, struct user *out,
                         char password_hash[static PASSWORD_HASH_SIZE]) MUST_CHECK;

/*
 * Inside a transaction: makes all who lock the same account wait for its end, so that what is counted per account stays
 * right. ERR_NOT_FOUND: no such account.
 */
enum err user_store_lock(struct pg_conn *conn, int64_t id) MUST_CHECK;

#endif
