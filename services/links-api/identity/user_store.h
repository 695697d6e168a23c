/*
 * Accounts in PostgreSQL: the table users. E-mail addresses are case-insensitive. One thread at a
 * time per connection. Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_USER_STORE_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_USER_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/digest.h"
#include "lib/base/env.h"
#include "lib/base/err.h"
#include "lib/base/password.h"
#include "lib/json/json.h"
#include "lib/postgres/pg_conn.h"

/* Users manage their own links, administrators manage everything. */
enum user_role { USER_ROLE_USER, USER_ROLE_ADMIN };

/* Converts between the role and "user" or "admin". ERR_INVALID: unknown name. */
const char *user_store_role_name(enum user_role role);
enum err user_store_parse_role(const char *name, enum user_role *role) MUST_CHECK;

#define USER_EMAIL_MAX 254
#define USER_EMAIL_SIZE (USER_EMAIL_MAX + 1)
#define USER_NAME_CHARS_MAX 100
#define USER_NAME_SIZE (USER_NAME_CHARS_MAX * 4 + 1)

#define USER_TZ_SIZE 48     /* as TIME_ZONES_NAME_SIZE */
#define USER_LOCALE_SIZE 13 /* kok-Deva-356 */
#define USER_THEME_SIZE 7
#define USER_SETTINGS_TZ_DETAIL "must be null or an IANA time zone like Europe/Berlin"

/* What a user has chosen for the dashboard. "" = as the browser says. */
struct user_settings {
	char tz[USER_TZ_SIZE];
	char locale[USER_LOCALE_SIZE];
	/* "system", "light" or "dark". */
	char theme[USER_THEME_SIZE];
	/* The one that the dashboard opened last, 0 = none. They may have left it since. */
	int64_t workspace_id;
	/* Mails of destinations that died, and of each month's visits. */
	bool mail_dead_links, mail_monthly_report;
};

struct user {
	int64_t id;
	char email[USER_EMAIL_SIZE];
	char name[USER_NAME_SIZE];
	enum user_role role;
	bool blocked;
	/* 0 = none, ENV_UNLIMITED = no limit, USER_STORE_NO_QUOTA = the service's default. */
	int64_t links_per_day;
	int64_t token_generation;
	int64_t created_at_us;
	/* 0 = not yet. */
	int64_t email_confirmed_at_us;
	bool has_second_factor;
	struct user_settings settings;
};

/*
 * {"user": {…}} for the account itself: {id, email, email_confirmed_at, second_factor, name, role,
 * links_per_day, tz, locale, theme, workspace_id, mail_dead_links, mail_monthly_report, created_at}.
 * links_per_day is a number, "unlimited", or null: the service's default applies. The caller owns it.
 */
struct json *user_store_json(const struct user *user);

/* Sets links_per_day of the object in this form. */
void user_store_set_links_per_day(struct json *object, int64_t links_per_day);

/*
 * For administrators, without the wrapper: {id, email, email_confirmed_at, second_factor, name, role,
 * blocked, links_per_day, created_at}.
 */
struct json *user_store_json_for_admin(const struct user *user);

/* ERR_CONFLICT: an account has this address. */
enum err user_store_create(struct pg_conn *conn, const char *email, const char *name,
                           const char *password_hash, struct user *out) MUST_CHECK;

/* For all functions below, ERR_NOT_FOUND: no such account, or it is deleted. */
enum err user_store_get(struct pg_conn *conn, int64_t id, struct user *out) MUST_CHECK;

/* Finds the account at login. password_hash "": it has none. ERR_NOT_FOUND: no account has this address. */
enum err user_store_find(struct pg_conn *conn, const char *email, struct user *out,
                         char password_hash[static PASSWORD_HASH_SIZE]) MUST_CHECK;

#define USER_STORE_NO_QUOTA INT64_C(-1)

/* The account's own limit, as in struct user. ERR_NOT_FOUND: no such account. */
enum err user_store_get_quota(struct pg_conn *conn, int64_t id, int64_t *links_per_day) MUST_CHECK;

/* Like user_store_get, with the password hash. */
enum err user_store_get_with_hash(struct pg_conn *conn, int64_t id, struct user *out,
                                  char password_hash[static PASSWORD_HASH_SIZE]) MUST_CHECK;

/*
 * Sets the password, and ends all access tokens and sessions, tokens for a new password, and what the
 * account has to confirm. ERR_NOT_FOUND also: old_hash is outdated.
 */
enum err user_store_set_password(struct pg_conn *conn, int64_t id, const char *old_hash,
                                 const char *new_hash) MUST_CHECK;

/* Writes name and settings of user. */
enum err user_store_set_settings(struct pg_conn *conn, const struct user *user) MUST_CHECK;

/*
 * --- password resets: the holder of a token may set the password once. An account has at most one that
 * was mailed and one that was not, so that who asks for mails cannot end an administrator's. A new
 * password and a new address make both invalid. token_hash is the SHA-256 of the token. ERR_NOT_FOUND
 * of find and use: the token is wrong, was used or has expired. ---
 */

/* Of the tokens that links carry. */
#define USER_STORE_RESET_S (INT64_C(24) * 60 * 60)

/* Replaces the token of the account; it is valid for lifetime_s. */
enum err user_store_set_reset(struct pg_conn *conn, int64_t id, bool is_mailed,
                              const uint8_t token_hash[static DIGEST_SIZE], int64_t lifetime_s,
                              int64_t *expires_at_us) MUST_CHECK;
/* id: the account. */
enum err user_store_find_reset(struct pg_conn *conn, const uint8_t token_hash[static DIGEST_SIZE],
                               int64_t *id) MUST_CHECK;
/*
 * Sets the password, and ends all tokens and sessions. A token that was mailed confirms the address.
 * id: the account.
 */
enum err user_store_use_reset(struct pg_conn *conn, const uint8_t token_hash[static DIGEST_SIZE],
                              const char *new_hash, int64_t *id) MUST_CHECK;

/*
 * Erases the personal data, and deletes all keys and sessions. The row stays. ERR_NOT_FOUND also: hash
 * is no longer the stored hash; NULL = whatever that is. was_admin: it was an administrator and not
 * blocked.
 */
enum err user_store_erase(struct pg_conn *conn, int64_t id, const char *hash,
                          bool *was_admin) MUST_CHECK;

/*
 * Inside a transaction: locks the account until the transaction ends, so that counts per account
 * stay exact. ERR_NOT_FOUND: no such account.
 */
enum err user_store_lock(struct pg_conn *conn, int64_t id) MUST_CHECK;
/*
 * The same before a session starts. ERR_NOT_FOUND also: the account is blocked, or has a new
 * password since generation was read.
 */
enum err user_store_lock_for_login(struct pg_conn *conn, int64_t id, int64_t generation) MUST_CHECK;
/* user_store_lock and user_store_get_quota in one statement. */
enum err user_store_lock_quota(struct pg_conn *conn, int64_t id, int64_t *links_per_day) MUST_CHECK;

/* For administrators. */

#define USER_STORE_LIMIT_MAX 100
#define USER_STORE_LINKS_PER_DAY_MAX INT64_C(1000000000)

struct user_page {
	/* Substring of the address or the name, case-insensitive; "" = all. */
	const char *q;
	/* From 1; 0 = those after an id. */
	int64_t page;
	/* 0 = by page. */
	int64_t after;
	/* 1 to USER_STORE_LIMIT_MAX. */
	int64_t limit;
};

/* Accounts that are not deleted, oldest first. users has room for limit. total: over all pages. */
enum err user_store_list(struct pg_conn *conn, const struct user_page *page, struct user *users,
                         size_t *count, int64_t *total) MUST_CHECK;

struct user_change {
	bool has_blocked, has_role, has_links_per_day;
	bool blocked;
	enum user_role role;
	/* As in struct user. */
	int64_t links_per_day;
};

/* A blocked account has no sessions. */
enum err user_store_change(struct pg_conn *conn, int64_t id, const struct user_change *change,
                           struct user *out) MUST_CHECK;

/*
 * Inside a transaction, before an administrator changes another account: locks both. Of two
 * administrators who demote each other at once, only one succeeds. ERR_NOT_FOUND: admin_id is
 * blocked or no longer an administrator.
 */
enum err user_store_lock_admin(struct pg_conn *conn, int64_t admin_id, int64_t other_id) MUST_CHECK;

/*
 * Inside a transaction, before the account id is deleted: locks the first two administrators that
 * are not blocked. another_remains: one of them is not id, and keeps the role until the transaction
 * ends.
 */
enum err user_store_lock_admins(struct pg_conn *conn, int64_t id, bool *another_remains) MUST_CHECK;

/* The account with this address, or a new one without a password: an administrator, not blocked. */
enum err user_store_make_admin(struct pg_conn *conn, const char *email,
                               struct user *out) MUST_CHECK;

/* There is an administrator who is not blocked. */
enum err user_store_has_admin(struct pg_conn *conn, bool *has_admin) MUST_CHECK;

#endif
