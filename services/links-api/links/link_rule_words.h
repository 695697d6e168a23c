/* The words of rules in JSON, and which countries there are. Pure. */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_RULE_WORDS_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_RULE_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/links/link_extras.h"

/* "redirect", "gone" or "as_usual"; LINK_ACTION_UNSPECIFIED: another text. */
Waymark__V1__LinkAction link_rule_words_action(const char *text);
const char *link_rule_words_of_action(Waymark__V1__LinkAction action);

/* The bit of "mon" to "sun"; 0: another text. */
uint32_t link_rule_words_day(const char *text);
/* 0 = Monday. */
const char *link_rule_words_of_day(unsigned index);

/* "country" of a condition that is a list of values; "": another condition. */
const char *link_rule_words_of_subject(Waymark__V1__LinkSubject subject);

/* Two letters of ISO 3166-1 in any case; also XK, which databases of places have for Kosovo. */
bool link_rule_words_is_country(const char *text);

#endif
