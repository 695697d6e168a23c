/*
 * Remembers from which networks an account has logged in during the last 30 days. Logins from there
 * are not limited by the failures of other networks, and go first when many passwords wait.
 *
 * Redis holds a keyed hash of account and network under limit:known:{hash}, so it reveals neither.
 * Without Redis no network is known. Not thread-safe: one thread at a time per request.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_KNOWN_NETWORK_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_KNOWN_NETWORK_H

#include <stdbool.h>

#include "services/links-api/http/request.h"

/* account: any text that identifies it (login_limiter.h). */
bool known_network_is_known(struct request *r, const char *account);

/* Call after the right password. Best effort. */
void known_network_remember(struct request *r, const char *account);

#endif
