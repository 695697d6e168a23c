/*
 * The option --republish-links: publishes the current state of every link on waymark.links.v1
 * again, after the topic was lost or the database was restored (docs/recovery.md). The relay of a
 * running links-api sends the events, at most OUTBOX_LOW_PRIORITY_PER_SECOND, and changes of users
 * before them. Not thread-safe.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_COMMANDS_REPUBLISH_LINKS_H
#define WAYMARK_SERVICES_LINKS_API_COMMANDS_REPUBLISH_LINKS_H

#include <stdbool.h>

bool republish_links_is_wanted(int argc, char **argv);

/*
 * Returns the exit status once Kafka has all links, and prints their number. After an error it says
 * how many Kafka has; run again, it begins anew.
 */
int republish_links_run(void);

#endif
