/*
 * Options with which links-api does one thing and ends. They read PG_URL, --republish-links also the
 * variables KAFKA_*, and no other: who runs them has the database at hand, but not always the whole
 * service. Not thread-safe.
 *
 *   --create-admin EMAIL [DASHBOARD_URL]
 *                        makes the account with this address an administrator and prints a link that
 *                        sets its password, once and within 24 hours; until then a password that it
 *                        has stays valid. Makes the account if there is none, whatever REGISTRATION
 *                        says, and unblocks it. DASHBOARD_URL completes the link
 *   --republish-links    publishes the current state of every link on waymark.links.v1 again, after
 *                        the topic was lost or the database was restored (docs/recovery.md). The
 *                        relay of a running links-api sends the events, at most
 *                        OUTBOX_LOW_PRIORITY_PER_SECOND, and changes of users before them. Then it
 *                        ends the links on the topic that the database has lost (ghosts.h). After an
 *                        error it says how many Kafka has; run again, it begins anew
 *   --fold-slugs         for a switch from SLUG_CASE=exact to folded: from now on the slugs that people
 *                        chose are found in either case, earlier ones too. Slugs that differ by case
 *                        alone, and one that differs so from a purged one, stay as they are: it
 *                        prints them.
 *                        Redirectors learn it from the feed. It can run beside links-api, and again
 */
#ifndef WAYMARK_SERVICES_LINKS_API_COMMANDS_COMMANDS_H
#define WAYMARK_SERVICES_LINKS_API_COMMANDS_COMMANDS_H

#define COMMANDS_NONE (-1)

/*
 * Does what the arguments say, prints the result on stdout or stderr, and returns the exit status.
 * COMMANDS_NONE: they name none of these.
 */
int commands_run(int argc, char **argv);

#endif
