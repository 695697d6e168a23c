/*
 * Proof that an address belongs to its user: a token that is mailed to it, good for a day and once. A
 * new account confirms its address this way, and an address changes this way; an account has one such
 * token, the last. It needs a login too, so that a mistyped address gives its owner no account. A new
 * password ends the token, and a new address those for a new password. Without mail (MAIL_FROM) an
 * address changes at once and is never confirmed. One thread at a time per connection.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_EMAIL_CHANGE_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_EMAIL_CHANGE_H

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"
#include "services/links-api/http/request.h"
#include "services/links-api/identity/user_store.h"

/*
 * Inside a transaction, if there is mail: mails a token to the address that the account has or is to
 * have. The caller has counted the mail (mail_queue_count).
 */
enum err email_change_ask(struct pg_conn *conn, const struct request *r, const struct user *user,
                          const char *email) MUST_CHECK;

#endif
