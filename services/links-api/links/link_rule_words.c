#include "services/links-api/links/link_rule_words.h"

#include <string.h>
#include <strings.h>
#include <unicode/uloc.h>

#include "lib/base/array.h"

static const char *const actions[] = {
	[WAYMARK__V1__LINK_ACTION__LINK_ACTION_UNSPECIFIED] = "",
	[WAYMARK__V1__LINK_ACTION__LINK_ACTION_REDIRECT] = "redirect",
	[WAYMARK__V1__LINK_ACTION__LINK_ACTION_GONE] = "gone",
	[WAYMARK__V1__LINK_ACTION__LINK_ACTION_AS_USUAL] = "as_usual",
};

static const char *const days[] = { "mon", "tue", "wed", "thu", "fri", "sat", "sun" };

Waymark__V1__LinkAction link_rule_words_action(const char *text)
{
	for (unsigned i = 0; i < ARRAY_SIZE(actions); i++)
		if (strcmp(actions[i], text) == 0)
			return (Waymark__V1__LinkAction)i;
	return WAYMARK__V1__LINK_ACTION__LINK_ACTION_UNSPECIFIED;
}

const char *link_rule_words_of_action(Waymark__V1__LinkAction action)
{
	return actions[action];
}

uint32_t link_rule_words_day(const char *text)
{
	for (unsigned i = 0; i < ARRAY_SIZE(days); i++)
		if (strcmp(days[i], text) == 0)
			return 1U << i;
	return 0;
}

const char *link_rule_words_of_day(unsigned index)
{
	return days[index];
}

const char *link_rule_words_of_subject(Waymark__V1__LinkSubject subject)
{
	static const char *const subjects[] = {
		[WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_COUNTRY] = "country",
		[WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_REGION] = "region",
		[WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_CITY] = "city",
		[WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_DEVICE] = "device",
		[WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_OS] = "os",
		[WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_BROWSER] = "browser",
		[WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_LANGUAGE] = "language",
		[WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_REFERRER_HOST] = "referrer_host",
	};
	return subject < ARRAY_SIZE(subjects) && subjects[subject] ? subjects[subject] : "";
}

bool link_rule_words_is_country(const char *text)
{
	for (const char *const *country = uloc_getISOCountries(); *country; country++)
		if (strcasecmp(*country, text) == 0)
			return true;
	return strcasecmp(text, "XK") == 0;
}
