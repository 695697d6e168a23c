/*
 * Extras in a few words for tests. Everything is static and is valid until extras_begin.
 *
 *   extras_begin();
 *   rule("germans", "https://de.example/", when(COUNTRY, "DE", "AT"));
 *   variant("a", "https://a.example/", 1);
 *   extras ...
 */
#ifndef WAYMARK_TESTS_UNIT_LINKS_EXTRAS_FIXTURE_H
#define WAYMARK_TESTS_UNIT_LINKS_EXTRAS_FIXTURE_H

#include "lib/links/link_extras.h"

extern Waymark__V1__LinkExtras extras;

/* Nothing is set. */
void extras_begin(void);

/* Adds a condition to the next rule. values: NULL = none. */
Waymark__V1__LinkCondition *when_any(Waymark__V1__LinkSubject subject, const char *const *values);
#define when(subject, ...)                                                                         \
	when_any(WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_##subject,                                \
	         (const char *const[]){ __VA_ARGS__, NULL })
Waymark__V1__LinkCondition *when_query(const char *parameter, const char *const *values);
Waymark__V1__LinkCondition *when_period(int64_t from_us, int64_t until_us);
/* zone: as in LinkCondition. */
Waymark__V1__LinkCondition *when_week(uint32_t days, uint32_t from_minute, uint32_t until_minute,
                                      uint32_t zone);

/* Adds a rule with the conditions that were added since the last one. url: NULL = gone. */
Waymark__V1__LinkRule *rule(const char *name, const char *url);
Waymark__V1__LinkVariant *variant(const char *name, const char *url, uint32_t weight);
/* Adds a zone of two offsets. Returns its number in conditions. */
uint32_t zone(const char *name, int32_t offset_s, int64_t change_s, int32_t offset_after_s);

#endif
