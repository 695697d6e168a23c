/*
 * Queues mails: rows of mail_outbox, in the transaction of what they tell of. The janitor sends
 * them (services/janitor/mail) in the language of their reader. There is mail if MAIL_FROM is set;
 * without it, callers queue nothing. Safe from any thread, one at a time per connection.
 *
 *   if (mail_queue_is_on(r))
 *           err = mail_queue_add(conn, &(struct mail){ .kind = MAIL_PASSWORD_RESET, .to = user.email,
 *                                                      .locale = user.settings.locale, .data = data });
 */
#ifndef WAYMARK_SERVICES_LINKS_API_MAIL_MAIL_QUEUE_H
#define WAYMARK_SERVICES_LINKS_API_MAIL_MAIL_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/json/json.h"
#include "lib/postgres/pg_conn.h"
#include "services/links-api/http/rate_limit.h"
#include "services/links-api/http/request.h"

/*
 * The kinds, and the members of their data. Texts are shown as they are, cut after 200 characters.
 * url: absolute, of the dashboard, with the secret of a one-time link. expires_at: as json_set_time
 * writes it; a mail that is not sent by then is given up, any other one after a week.
 */
/* {workspace, inviter, url, expires_at}; workspace "" = into the instance only */
#define MAIL_INVITATION "invitation"
/* {url, expires_at} */
#define MAIL_CONFIRM_ADDRESS "confirm-address"
/* {old, new}: to each of the two addresses */
#define MAIL_ADDRESS_CHANGED "address-changed"
/* {url, expires_at} */
#define MAIL_PASSWORD_RESET "password-reset"
/* {url}: of the instance */
#define MAIL_TEST "test"

struct mail {
	/* MAIL_… */
	const char *kind;
	const char *to;
	/* As in users.locale; "" or NULL = the default, English. */
	const char *locale;
	const struct json *data;
	/* Its audit log tells if the mail could not be sent; 0 = only the instance's. */
	int64_t workspace_id;
};

/* Whether this instance sends mail. */
bool mail_queue_is_on(const struct request *r);

/* ERR_INVALID: to is not as mail_address.h says. Else as pg_conn_query. */
enum err mail_queue_add(struct pg_conn *conn, const struct mail *mail) MUST_CHECK;

/*
 * Counts a mail that the request causes: for the person who asks (or the network, without a login),
 * and for the address, whoever asks. Call it before the transaction. ERR_LIMIT: send nothing; rule
 * and reset_s are what response_rate_limited needs.
 */
enum err mail_queue_count(const struct request *r, const char *to, struct rate_limit_rule *rule,
                          int64_t *reset_s) MUST_CHECK;

#endif
