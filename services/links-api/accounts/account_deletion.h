/*
 * Deletes accounts. The users row stays, without personal data. API keys, sessions and access tokens
 * stop working at once. The person leaves their workspaces; those of which nobody else is a member end
 * at once (workspaces/workspace_closing.h), without a week in which that could be undone. Safe from any
 * thread.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_ACCOUNT_DELETION_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_ACCOUNT_DELETION_H

#include "services/links-api/http/request.h"

#define ACCOUNT_DELETION_NAMES_SIZE 512

/*
 * Deletes the caller's account, or as an administrator that of somebody else. hash: the password hash
 * that the caller's password matched; NULL = it is somebody else's. OK: even if links are left for the
 * background thread. ERR_NOT_FOUND: the password has changed, or there is no such account any more.
 * ERR_CONFLICT: the account is the last administrator, or the last owner of workspaces in which others
 * are; names says which these are, and is "" otherwise. ERR_INVALID: the caller, who deletes somebody
 * else's account, is no administrator any more.
 */
enum err account_deletion_run(const struct request *r, int64_t user_id, const char *hash,
                              char names[static ACCOUNT_DELETION_NAMES_SIZE]) MUST_CHECK;

/* 409 "last-owner" with the names. */
enum http_progress account_deletion_send_last_owner(struct request *r, const char *names);

#endif
