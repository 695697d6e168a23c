/*
 * One thread at a time. The mails that nobody asks for at the moment: links whose destinations
 * died, and the monthly report.
 */
#ifndef WAYMARK_SERVICES_JANITOR_MAIL_MAIL_REPORTS_H
#define WAYMARK_SERVICES_JANITOR_MAIL_MAIL_REPORTS_H

#include "services/janitor/tasks/run.h"

/* A destination is reported when so many checks in a row have failed; one may be an accident. */
#define MAIL_REPORTS_DEAD_AFTER 3
/* In a mail. */
#define MAIL_REPORTS_DEAD_LINKS 20
#define MAIL_REPORTS_TOP_LINKS 10
/* In a month, of one person: those of their longest-standing memberships. */
#define MAIL_REPORTS_WORKSPACES 10

/*
 * Remembers that a link's destination died, inside the caller's transaction. Its maker is told, or,
 * if they are no member of its workspace any more, the workspace's sponsor.
 */
enum err mail_reports_note_dead(struct pg_conn *conn, int64_t link_id) MUST_CHECK;

/*
 * Queues what is due: to each person one mail about dead links in 24 hours, which leaves out those
 * that have recovered; and, from 06:00 UTC on the first of a month, a report of the month before for
 * each of their workspaces that was visited in it. Its links are the most visited of the 500 with
 * most visits ever and the 500 visited last.
 */
enum err mail_reports_add(struct run *run) MUST_CHECK;

#endif
