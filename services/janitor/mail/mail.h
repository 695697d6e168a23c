/*
 * One thread at a time. The task "mail": sends what waits in mail_outbox. Left out unless SMTP_URL
 * and MAIL_FROM are set.
 *
 * A mail is claimed in a transaction, which counts the attempt and keeps other janitors from it for
 * MAIL_CLAIM_S; then it is sent; then its row is deleted, or gets the time of the next attempt. So a
 * janitor that dies in between may send a mail once more than it should. A mail whose outcome is
 * unknown twice is given up, so that none arrives three times; its Message-ID is always the same.
 *
 * - The server cannot be reached, refuses the login or the sender, or says 421: the run ends, and
 *   the mail is tried again after MAIL_SERVER_RETRY_S. Nothing else is lost or delayed.
 * - It refuses the mail for now (4xx): after a minute, twice that, and so on up to MAIL_RETRY_S_MAX.
 * - It refuses the mail (5xx): never again. The row stays for a week, without its data, and the
 *   audit log has an entry "mail.refused".
 * - After MAIL_KEEP_S, or when its one-time link has expired: given up ("mail.given_up").
 */
#ifndef WAYMARK_SERVICES_JANITOR_MAIL_MAIL_H
#define WAYMARK_SERVICES_JANITOR_MAIL_MAIL_H

#include "services/janitor/tasks/run.h"

#define MAIL_CLAIM_S 300
#define MAIL_SERVER_RETRY_S 60
#define MAIL_RETRY_S_MAX INT64_C(14400)
#define MAIL_KEEP_S INT64_C(604800)

struct metrics;

void mail_metrics_init(struct run_mail_metrics *out, struct metrics *metrics);

/* *changed: mails that were sent or ended. A server that is away is no error. */
enum err mail_run(struct run *run, int64_t *changed) MUST_CHECK;

/* Pure. Seconds until a mail is tried again that was deferred so many times, counted from 1. */
int64_t mail_retry_s(int64_t failures);

#endif
