/*
 * Deletes accounts. The users row stays, without personal data. API keys, sessions and access
 * tokens stop working at once. Links become DELETED in batches. Each batch has its own transaction
 * and reaches Redis before the next one starts, so a million links do not delay other users'
 * changes. Safe from any thread.
 *
 * The request itself deletes the first ACCOUNT_DELETION_SYNC_LINKS links; a background thread in
 * every instance deletes the rest. The thread leaves the account to the request for
 * ACCOUNT_DELETION_REQUEST_S: if it took a batch, the request would respond before redirectors know
 * of it. It checks the account again until ACCOUNT_DELETION_GRACE_S have passed: a request that was
 * running at the deletion may still create a link.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_ACCOUNT_DELETION_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_ACCOUNT_DELETION_H

#include "services/links-api/http/api.h"
#include "services/links-api/http/request.h"

#define ACCOUNT_DELETION_SYNC_LINKS 1000
#define ACCOUNT_DELETION_REQUEST_S 30
#define ACCOUNT_DELETION_GRACE_S 60

/*
 * Deletes the caller's account. hash: the password hash that the caller's password matched. OK:
 * even if links are left for the thread. ERR_NOT_FOUND: the password has changed, or the account is
 * already deleted. ERR_CONFLICT: the caller is the last administrator.
 */
enum err account_deletion_run(const struct request *r, const char *hash) MUST_CHECK;

struct account_deletion;

/* Starts the background thread. api is borrowed. */
struct account_deletion *account_deletion_start(const struct api *api);
/* NULL is allowed. */
void account_deletion_stop(struct account_deletion *closing);

#endif
