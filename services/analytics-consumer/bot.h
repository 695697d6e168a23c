/*
 * Pure. Whether a program made a click, and how it gave itself away. Bots are counted apart, never dropped.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_BOT_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_BOT_H

#include "lib/clicks/redirect_event.h"
#include "services/analytics-consumer/user_agent.h"

/*
 * "" for a human, otherwise the first of
 *   link_preview  an agent that fetches pages to show them as a card in a chat or feed
 *   crawler       uap-core calls it a spider, or it calls itself a bot, tells where its makers can be found (a site or an
 *                 address, as no browser does), or says "compatible" without naming a system
 *   http_library  a tool or library for programs, by the name it gives itself, or naming no system and no browser
 *   empty_agent   no User-Agent at all
 *   prefetch      the browser asked ahead (Sec-Purpose, Purpose, X-Moz): nobody has looked at anything
 *   head          a HEAD request
 * A literal; at most 31 bytes.
 */
const char *bot_reason(const struct redirect_event *event, const struct user_agent *agent);

/* The first four, which the User-Agent alone tells; user_agent_parse keeps the answer. */
const char *bot_agent_reason(const char *user_agent, enum device_class device);

#endif
