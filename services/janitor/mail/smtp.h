/*
 * One thread at a time. Gives mails to a mail server (SMTP, RFC 5321), by libcurl. The connection
 * is encrypted, unless the server is on this machine, and stays open for the next mail.
 */
#ifndef WAYMARK_SERVICES_JANITOR_MAIL_SMTP_H
#define WAYMARK_SERVICES_JANITOR_MAIL_SMTP_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/mail_address.h"
#include "lib/base/strbuf.h"

#define SMTP_URL_SIZE 2048
#define SMTP_REASON_SIZE 201
/* How long one mail may take, the connection included. */
#define SMTP_TIMEOUT_MS 25000

struct smtp_server {
	/* For libcurl: "smtps://mail.example:465". */
	char url[300];
	/* "": no login. */
	char user[SMTP_URL_SIZE], password[SMTP_URL_SIZE];
	/* Of the authority that signed the server's certificate; "": those that the system trusts. */
	char ca_file[SMTP_URL_SIZE];
	bool is_encrypted;
};

/*
 * smtp+starttls://, smtps:// or, for this machine only, smtp://; then [user:password@]host[:port],
 * percent-encoded, and perhaps ?ca_file=/path. ERR_INVALID: *reason says why, without the password.
 */
enum err smtp_server_parse(const char *url, struct smtp_server *out,
                           const char **reason) MUST_CHECK;

struct smtp_mail {
	/* Its Message-ID comes from these, so a mail that is sent again has the same one. */
	int64_t id, created_at_us;
	/* Wall time. */
	int64_t now_us;
	const char *from_name;
	const char *from;
	const char *to;
	/* UTF-8; control characters have been removed. */
	const char *subject;
	const char *text;
	const char *html;
};

enum smtp_outcome {
	SMTP_SENT,
	/* The server refuses this mail for now, for good. */
	SMTP_DEFERRED,
	SMTP_REFUSED,
	/* No mail can be sent: no connection, no encryption, a wrong login, a refused sender. */
	SMTP_UNAVAILABLE,
	/* The server has all of it, but said nothing. */
	SMTP_UNKNOWN,
};

struct smtp_session;

/* Borrows server. Does not connect yet. */
struct smtp_session *smtp_session_new(const struct smtp_server *server);
/* NULL is allowed. */
void smtp_session_free(struct smtp_session *session);

/* reason: what the server or libcurl said, without the address; "" if SMTP_SENT. */
enum smtp_outcome smtp_send(struct smtp_session *session, const struct smtp_mail *mail,
                            char reason[static SMTP_REASON_SIZE]);

/* Appends text as a header's value: as it is, or as encoded words (RFC 2047) on lines of their own. */
void smtp_encode_header(const char *text, struct strbuf *out);

#endif
