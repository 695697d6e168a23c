/*
 * One thread at a time per connection. Accounts in PostgreSQL: the table users. Addresses are compared without regard
 * to case. Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_USER_STORE_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_USER_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/net/pg_conn.h"
#include "services/links-api/accounts/password.h"
#include "services/links-api/accounts/user_role.h"

#define USER_EMAIL_MAX 254
#define USER_EMAIL_SIZE (USER_EMAIL_MAX + 1)
#define USER_NAME_CHARS_MAX 100
#define USER_NAME_SIZE (USER_NAME_CHARS_MAX * 4 + 1)

struct user {
	int64_t id;
	char email[USER_EMAIL_SIZE];
	char name[USER_NAME_SIZE];
	enum user_role role;
	bool blocked;
	bool has_links_per_day;
	int64_t links_per_day; /* 0 = no limit */
	int64_t token_generation;
	int64_t created_at_us;
};

/* What each request needs to know. */
struct user_standing {
	enum user_role role;
	bool blocked;
	int64_t token_generation; /* tokens of others are refused */
};

/* ERR_CONFLICT: there is an account with that address. */
enum err user_store_create(struct pg_conn *conn, const char *email, const char *name, const char *password_hash,
                           struct user *out) MUST_CHECK;

/* ERR_NOT_FOUND: no such account, or it was deleted; so for all that follow. */
enum err user_store_get(struct pg_conn *conn, int64_t id, struct user *out) MUST_CHECK;

enum err user_store_get_standing(struct pg_conn *conn, int64_t id, struct user_standing *out) MUST_CHECK;

/* For a login. ERR_NOT_FOUND: no account with that address. */
enum err user_store_find(struct pg_conn *conn, const char *email, struct user *out,
                         char password_hash[static PASSWORD_HASH_SIZE]) MUST_CHECK;

/* His own number of links in 24 hours, 0 = no limit. */
#define USER_STORE_NO_QUOTA INT64_C(-1) /* he has none: the service's number counts */

/* ERR_NOT_FOUND: no such account. */
enum err user_store_get_quota(struct pg_conn *conn, int64_t id, int64_t *links_per_day) MUST_CHECK;

/* As user_store_get, with the hash of his password. */
enum err user_store_get_with_hash(struct pg_conn *conn, int64_t id, struct user *out,
                                  char password_hash[static PASSWORD_HASH_SIZE]) MUST_CHECK;

/* A new password, and an end of all access tokens. ERR_NOT_FOUND also: the password is not that of old_hash any more. */
enum err user_store_set_password(struct pg_conn *conn, int64_t id, const char *old_hash,
                                 const char *new_hash) MUST_CHECK;

/*
 * Erases what the account says of a person; its row stays, and is closing (account_closing.h). ERR_NOT_FOUND also: the
 * password is not that of hash any more. was_admin: it was one, and not blocked.
 */
enum err user_store_erase(struct pg_conn *conn, int64_t id, const char *hash, bool *was_admin) MUST_CHECK;

/*
 * Inside a transaction: locks a closing account with an id above after that nobody else has locked. ERR_NOT_FOUND:
 * there is none. is_long_gone: it was deleted at least for_s ago.
 */
enum err user_store_lock_closing(struct pg_conn *conn, int64_t after, int64_t for_s, int64_t *id,
                                 bool *is_long_gone) MUST_CHECK;
enum err user_store_set_closed(struct pg_conn *conn, int64_t id) MUST_CHECK;

/*
 * Inside a transaction: makes all who lock the same account wait for its end, so that what is counted per account stays
 * right. ERR_NOT_FOUND: no such account.
 */
enum err user_store_lock(struct pg_conn *conn, int64_t id) MUST_CHECK;
/* Both in one. */
enum err user_store_lock_quota(struct pg_conn *conn, int64_t id, int64_t *links_per_day) MUST_CHECK;

/* --- for administrators --- */

#define USER_STORE_LIMIT_MAX 100

struct user_page {
	const char *q; /* a part of the address or of the name, in whatever case; "" = all */
	int64_t page;  /* from 1 */
	int64_t limit; /* 1 to USER_STORE_LIMIT_MAX */
};

/* Accounts that are not deleted, the oldest first; users has room for limit. total: of all pages. */
enum err user_store_list(struct pg_conn *conn, const struct user_page *page, struct user *users, size_t *count,
                         int64_t *total) MUST_CHECK;

struct user_change {
	bool has_blocked, has_role, has_links_per_day;
	bool blocked;
	enum user_role role;
	int64_t links_per_day; /* -1 = the service's default */
};

enum err user_store_change(struct pg_conn *conn, int64_t id, const struct user_change *change,
                           struct user *out) MUST_CHECK;

/*
 * Inside a transaction, before one admin changes another account: locks both, so that of two who take each other's role
 * away one comes too late. ERR_NOT_FOUND: admin_id is no admin any more, or is blocked.
 */
enum err user_store_lock_admin(struct pg_conn *conn, int64_t admin_id, int64_t other_id) MUST_CHECK;

/*
 * Inside a transaction, before the account id ends: locks admins that are not blocked, the first two. stays: one of
 * them is another than id, and remains one until the transaction's end.
 */
enum err user_store_lock_admins(struct pg_conn *conn, int64_t id, bool *stays) MUST_CHECK;

enum err user_store_make_admin(struct pg_conn *conn, const char *email, struct user *out) MUST_CHECK;

#endif
