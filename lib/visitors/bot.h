/* Pure. Decides whether a program made a click, and why. Bots are counted apart, never dropped. */
#ifndef WAYMARK_LIB_VISITORS_BOT_H
#define WAYMARK_LIB_VISITORS_BOT_H

#include "lib/clicks/redirect_event.h"
#include "lib/visitors/user_agent.h"

/*
 * Returns "" for a human, otherwise the first reason that applies:
 *   link_preview  fetches pages to show them as a card in a chat or feed
 *   crawler       a spider according to uap-core; or the User-Agent contains "bot", a web site, a
 *                 mail address or another shape that browsers never send; or it says "compatible"
 *                 but names no operating system
 *   http_library  a command-line tool or library: known by name, or the User-Agent names neither a
 *                 system nor a browser
 *   empty_agent   the User-Agent is missing or empty
 *   prefetch      the browser loaded the link ahead of time (Sec-Purpose, Purpose, X-Moz)
 *   head          a HEAD request
 * The result is a literal of at most 31 bytes.
 */
const char *bot_reason(const struct redirect_event *event, const struct user_agent *agent);

/* The first four reasons, from the User-Agent alone. user_agent_parse stores the result. */
const char *bot_agent_reason(const char *user_agent, enum user_agent_device device);

#endif
