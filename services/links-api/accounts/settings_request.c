#include "services/links-api/accounts/settings_request.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "services/links-api/http/member.h"

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

static void read_name(const struct json *object, struct settings_change *out,
                      struct http_problem_fields *wrong)
{
	const char *name = member_text_of(object, "name", false, wrong);
	if (!name || !member_is_line(name, 0, USER_NAME_CHARS_MAX, "/name", wrong))
		return;
	out->has_name = true;
	snprintf(out->name, sizeof(out->name), "%s", name);
}

/* The text of a member that may be null, "" for null. NULL: missing, or invalid and reported. */
static const char *text_or_null(const struct json *object, const char *name,
                                struct http_problem_fields *wrong)
{
	const struct json *value = json_get(object, name);
	return value && json_type(value) == JSON_NULL ? ""
	                                              : member_text_of(object, name, false, wrong);
}

static void read_tz(const struct json *object, struct settings_change *out,
                    struct http_problem_fields *wrong)
{
	const char *tz = text_or_null(object, "tz", wrong);
	if (!tz)
		return;
	out->has_tz = true;
	bool is_null = json_type(json_get(object, "tz")) == JSON_NULL;
	if (is_null || (*tz && strlen(tz) < sizeof(out->settings.tz)))
		snprintf(out->settings.tz, sizeof(out->settings.tz), "%s", tz);
	else
		http_problem_add_field(wrong, "/tz", "time-zone", USER_SETTINGS_TZ_DETAIL);
}

/* Skips "-" and exactly len of the characters, if they are all that comes before the next "-". */
static const char *skip_subtag(const char *at, const char *characters, size_t len)
{
	bool is_subtag = *at == '-' && strspn(at + 1, characters) == len &&
	                 (at[1 + len] == '-' || at[1 + len] == '\0');
	return is_subtag ? at + 1 + len : at;
}

static bool is_locale(const char *text)
{
	size_t language = strspn(text, LOWER);
	if (language < 2 || language > 3)
		return false;
	const char *at = text + language;
	if (*at == '-' && strspn(at + 1, UPPER) == 1 && strspn(at + 2, LOWER) == 3)
		at += 5; /* a script: Hans */
	const char *region = skip_subtag(at, UPPER, 2);
	at = region != at ? region : skip_subtag(at, DIGITS, 3);
	return *at == '\0';
}

static void read_locale(const struct json *object, struct settings_change *out,
                        struct http_problem_fields *wrong)
{
	const char *locale = text_or_null(object, "locale", wrong);
	if (!locale)
		return;
	out->has_locale = true;
	if (json_type(json_get(object, "locale")) == JSON_NULL || is_locale(locale))
		snprintf(out->settings.locale, sizeof(out->settings.locale), "%s", locale);
	else
		http_problem_add_field(wrong, "/locale", "choice",
		                       "must be null or a language like de or pt-BR");
}

static void read_theme(const struct json *object, struct settings_change *out,
                       struct http_problem_fields *wrong)
{
	static const char *const themes[] = { "system", "light", "dark" };
	const char *theme = member_text_of(object, "theme", false, wrong);
	if (!theme)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(themes); i++)
		out->has_theme = out->has_theme || strcmp(theme, themes[i]) == 0;
	if (out->has_theme)
		snprintf(out->settings.theme, sizeof(out->settings.theme), "%s", theme);
	else
		http_problem_add_field(wrong, "/theme", "choice", "must be system, light or dark");
}

enum err settings_request_read(const struct json *object, struct settings_change *out,
                               struct http_problem_fields *wrong)
{
	static const char *const names[] = { "name", "tz", "locale", "theme" };
	struct settings_change read = { 0 };
	member_reject_unknown(object, names, ARRAY_SIZE(names), wrong);
	read_name(object, &read, wrong);
	read_tz(object, &read, wrong);
	read_locale(object, &read, wrong);
	read_theme(object, &read, wrong);
	if (wrong->count > 0)
		return ERR_INVALID;
	*out = read;
	return OK;
}

static bool set(char *out, size_t size, const char *text)
{
	bool is_other = strcmp(out, text) != 0;
	snprintf(out, size, "%s", text);
	return is_other;
}

bool settings_request_apply(const struct settings_change *change, struct user *user)
{
	struct user_settings *to = &user->settings;
	bool is_changed = false;
	if (change->has_name)
		is_changed |= set(user->name, sizeof(user->name), change->name);
	if (change->has_tz)
		is_changed |= set(to->tz, sizeof(to->tz), change->settings.tz);
	if (change->has_locale)
		is_changed |= set(to->locale, sizeof(to->locale), change->settings.locale);
	if (change->has_theme)
		is_changed |= set(to->theme, sizeof(to->theme), change->settings.theme);
	return is_changed;
}
