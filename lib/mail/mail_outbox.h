/*
 * Adds mails to the table mail_outbox, in the transaction of what they tell of. The janitor sends
 * them (services/janitor/mail) in the language of their reader. Safe from any thread, one at a time
 * per connection.
 *
 *   err = mail_outbox_add(conn, &(struct mail){ .kind = MAIL_PASSWORD_RESET, .to = user.email,
 *                                               .locale = user.settings.locale, .data = data });
 */
#ifndef WAYMARK_LIB_MAIL_MAIL_OUTBOX_H
#define WAYMARK_LIB_MAIL_MAIL_OUTBOX_H

#include <stdint.h>

#include "lib/json/json.h"
#include "lib/postgres/pg_conn.h"

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
/* {count, links: [{name, detail, value}], more?, url?}; value: an HTTP status, null = no answer */
#define MAIL_DESTINATION_DIED "destination-died"
/* {workspace, month, visits, before, links: [{name, detail, value}], url?}; value: visits */
#define MAIL_MONTHLY_REPORT "monthly-report"

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

/*
 * ERR_INVALID: to is not as mail_address.h says. ERR_LIMIT: the data is larger than the table takes.
 * Else as pg_conn_query.
 */
enum err mail_outbox_add(struct pg_conn *conn, const struct mail *mail) MUST_CHECK;

#endif
