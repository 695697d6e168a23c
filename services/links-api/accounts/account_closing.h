/*
 * Safe from any thread. The end of an account. Its row stays and says nothing of a person; its API keys and access
 * tokens are worth nothing at once; its links become DELETED in steps, each in a transaction of its own and told to
 * Redis before the next one begins, so that a million of them hold up nobody else's changes.
 *
 * Whoever deletes an account sees to its first ACCOUNT_CLOSING_AT_ONCE links himself; a thread in each instance sees to
 * the others. It comes back to them for ACCOUNT_CLOSING_S: a request that was under way when the account ended may
 * still have made a link.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_ACCOUNT_CLOSING_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_ACCOUNT_CLOSING_H

#include "services/links-api/api.h"
#include "services/links-api/request.h"

#define ACCOUNT_CLOSING_AT_ONCE 1000
#define ACCOUNT_CLOSING_S 60

/*
 * Ends the caller's account. hash: what the password was proved by. ERR_NOT_FOUND: it is another password by now, or
 * the account is gone. ERR_CONFLICT: he is the last admin. OK: even if links are left for the thread.
 */
enum err account_closing_begin(const struct request *r, const char *hash) MUST_CHECK;

struct account_closing;

/* The thread. api is borrowed. */
struct account_closing *account_closing_start(const struct api *api);
/* NULL is allowed. */
void account_closing_stop(struct account_closing *closing);

#endif
