/*
 * Parses the request to change one's own account: {name?, tz?, locale?, theme?}. Members that are
 * not sent stay as they are; null for tz or locale means: as the browser says. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_SETTINGS_REQUEST_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_SETTINGS_REQUEST_H

#include <stdbool.h>

#include "lib/http/http_problem.h"
#include "lib/json/json.h"
#include "services/links-api/identity/user_store.h"

struct settings_change {
	bool has_name, has_tz, has_locale, has_theme;
	char name[USER_NAME_SIZE];
	/* Tz has the length of a zone, but may be unknown. */
	struct user_settings settings;
};

/*
 * ERR_INVALID: wrong lists every invalid member. locale: a language, optionally with script and
 * region, in the case of BCP 47 (de, pt-BR, zh-Hans-CN).
 */
enum err settings_request_read(const struct json *object, struct settings_change *out,
                               struct http_problem_fields *wrong) MUST_CHECK;

/* Changes name and settings of user. Returns true if any of them is another one now. */
bool settings_request_apply(const struct settings_change *change, struct user *user);

#endif
