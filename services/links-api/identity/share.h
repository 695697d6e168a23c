/*
 * Shares in PostgreSQL: the table shares. A share is active if all of this holds: it exists and has
 * not expired, its workspace is not deleted, the sponsor of that is not blocked, and its link is not DELETED. Readers see
 * active shares only. The endpoints are in http/handlers.h. One thread at a time per connection.
 * Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_SHARE_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/password.h"
#include "lib/json/json.h"
#include "lib/links/link.h"
#include "lib/postgres/pg_conn.h"
#include "services/links-api/identity/secret.h"

#define SHARE_SHARES_MAX 100 /* per sponsor */
#define SHARE_TITLE_CHARS_MAX 200
#define SHARE_TITLE_SIZE (SHARE_TITLE_CHARS_MAX * 4 + 1)
#define SHARE_TEXT_CHARS_MAX 2000
#define SHARE_TEXT_SIZE (SHARE_TEXT_CHARS_MAX * 4 + 1)
/* "2026-03-01/2026-03-31" */
#define SHARE_RANGE_SIZE 22
#define SHARE_LOGO_BYTES_MAX 65536

struct public_base;

/* A picture; len 0 = none. */
struct share_logo {
	size_t len;
	uint8_t bytes[SHARE_LOGO_BYTES_MAX];
};

/* About 10 KB. */
struct share {
	int64_t id;
	int64_t workspace_id;
	/* Of the workspace. */
	int64_t sponsor_id;
	/* A user. */
	int64_t created_by;
	/* 0 = a tag is shared. */
	int64_t link_id;
	/* "" = a link is shared. */
	char tag[LINK_TAG_SIZE];
	char title[SHARE_TITLE_SIZE];
	char text[SHARE_TEXT_SIZE];
	/* That the report begins with; "" = that of the dashboard. */
	char range[SHARE_RANGE_SIZE];
	bool has_logo;
	int64_t version;
	bool has_password;
	/* Access tokens of another one have ended. */
	int64_t password_generation;
	bool is_active;
	/* 0 = never. */
	int64_t expires_at_us;
	/* To the minute; 0 = never. */
	int64_t last_used_at_us;
	int64_t created_at_us;
	/* Of the link. */
	char slug[SLUG_SIZE];
	char link_title[LINK_TITLE_SIZE];
};

/*
 * Call inside a transaction that holds membership_lock_workspace and link_store_lock on the link.
 * Reads workspace_id, sponsor_id, created_by, link_id, tag, title, text, range and expires_at_us of wanted.
 * password_hash "" = none.
 * ERR_INVALID: the sponsor's workspaces already have SHARE_SHARES_MAX shares.
 */
enum err share_create(struct pg_conn *conn, const struct share *wanted,
                      const struct share_logo *logo, const struct secret *token,
                      const char *password_hash, struct share *out) MUST_CHECK;

struct request;

/*
 * That of the request's path, and locks its row until the transaction ends. ERR_NOT_FOUND: the workspace of
 * the request has none with this id, or the request must not see it.
 */
enum err share_lock(struct pg_conn *conn, const struct request *r, struct share *out) MUST_CHECK;

/*
 * Stores title, text, range and expires_at_us of a share from share_lock, which raises its version, and reads
 * it again. logo, password_hash: NULL = as they are; none = an empty one.
 */
enum err share_update(struct pg_conn *conn, struct share *share, const struct share_logo *logo,
                      const char *password_hash) MUST_CHECK;

/* ERR_INVALID: the sponsor's workspaces already have SHARE_SHARES_MAX shares. */
enum err share_check_room(struct pg_conn *conn, int64_t sponsor_id) MUST_CHECK;

/*
 * ERR_NOT_FOUND: no active share has this token. password_hash: "" = none; PASSWORD_HASH_SIZE bytes.
 */
enum err share_find(struct pg_conn *conn, const uint8_t token_hash[static DIGEST_SIZE],
                    struct share *out, char password_hash[static PASSWORD_HASH_SIZE]) MUST_CHECK;

/* Records that somebody has opened the share, at most once a minute. */
enum err share_mark_used(struct pg_conn *conn, int64_t id) MUST_CHECK;

/*
 * For the workspace: {id, version, title, text, range, has_logo, link: {id, slug, short_url, title}, tag,
 * has_password, active, expires_at, last_used_at, created_at, created_by}. Either link or tag is null. The caller owns the result.
 */
struct json *share_json(const struct share *share, const struct public_base *base);

#endif
