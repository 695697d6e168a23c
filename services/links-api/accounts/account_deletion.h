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
 * Deletes the caller's account. hash: the password hash that the caller's password matched. OK: even
 * if links are left for the background thread. ERR_NOT_FOUND: the password has changed, or the account
 * is already deleted. ERR_CONFLICT: the caller is the last administrator, or the last owner of
 * workspaces in which others are; names says which these are, and is "" otherwise.
 */
enum err account_deletion_run(const struct request *r, const char *hash,
                              char names[static ACCOUNT_DELETION_NAMES_SIZE]) MUST_CHECK;

#endif
