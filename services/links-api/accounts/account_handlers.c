#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/accounts/account_deletion.h"
#include "services/links-api/accounts/credentials.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/response.h"
#include "services/links-api/http/time_zones.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/password_job.h"
#include "services/links-api/identity/session.h"
#include "services/links-api/identity/user_store.h"

/* A request that requires the caller's password. */
struct password_check {
	struct password_job job;
	struct user user;
	char hash[PASSWORD_HASH_SIZE];
	char password[PASSWORD_SIZE];
	/* "" = delete the account. */
	char new_password[PASSWORD_SIZE];
	char new_hash[PASSWORD_HASH_SIZE];
	/* Of account_deletion_run. */
	char workspaces[ACCOUNT_DELETION_NAMES_SIZE];
};

static enum err write_password_on(void *ctx, struct pg_conn *conn)
{
	const struct password_check *c = ctx;
	int64_t id = c->job.request->user_id;
	enum err err = user_store_set_password(conn, id, c->hash, c->new_hash);
	return err == OK ? audit_store_record(c->job.request, conn, "user.password",
	                                      AUDIT_STORE_USER, id, NULL)
	                 : err;
}

static enum err set_password(struct password_check *c)
{
	enum err err = password_hash(c->new_password,
	                             c->job.request->api->config->password_hash_cost, c->new_hash);
	return err == OK ? pg_pool_transact(c->job.request->api->pg, write_password_on, c) : err;
}

static enum http_progress send_wrong_password(struct request *r)
{
	return response_problem(r, 403, "wrong-password", "Wrong password.");
}

/* Sessions have ended, also the one of this request. */
static void send_done(struct request *r)
{
	if (r->session_id)
		session_clear_cookie(r);
	response_no_content(r);
}

/* Runs in a password thread. */
static void check_job(void *state)
{
	struct password_check *c = state;
	struct request *r = c->job.request;
	if (!password_job_matches(&c->job, c->password, c->hash)) {
		send_wrong_password(r);
		return;
	}
	enum err err = *c->new_password
	                       ? set_password(c)
	                       : account_deletion_run(r, r->user_id, c->hash, c->workspaces);
	if (err == ERR_NOT_FOUND)
		send_wrong_password(r); /* it has changed since find_user */
	else if (err == ERR_CONFLICT && *c->workspaces)
		account_deletion_send_last_owner(r, c->workspaces);
	else if (err == ERR_CONFLICT)
		response_conflict(r, "last-admin", "",
		                  "You are the last administrator. Promote another account first.");
	else if (err == OK)
		send_done(r);
	else
		response_failure(r, err);
}

static enum err find_user(struct password_check *c)
{
	struct pg_pool *pool = c->job.request->api->pg;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(pool, &conn);
	if (err == OK)
		err = user_store_get_with_hash(conn, c->job.request->user_id, &c->user, c->hash);
	pg_pool_release(pool, conn);
	return err;
}

/* new_name: of the new password; NULL = none. */
static enum http_progress check(struct request *r, const char *name, const char *new_name)
{
	struct json *body = request_body_read(r);
	if (!body)
		return HTTP_COMPLETE;
	struct password_check *c = password_job_new(r, sizeof(*c));
	struct http_problem_fields wrong = { 0 };
	enum err err = credentials_read_password(body, name, new_name, c->password, c->new_password,
	                                         &wrong);
	json_free(body);
	if (err == OK)
		err = find_user(c);
	if (err == OK)
		return password_job_submit(c, PASSWORD_DOOR_TOKEN, r->user_id, NULL, check_job);
	if (wrong.count > 0)
		response_invalid_fields(r, &wrong);
	else if (err == ERR_NOT_FOUND)
		response_unauthorized(r, REQUEST_AUTH_INVALID);
	else
		response_failure(r, err);
	password_job_free(c);
	return HTTP_COMPLETE;
}

enum http_progress account_handlers_set_password(void *ctx, struct http_exchange *x)
{
	(void)x;
	return check(ctx, "current_password", "new_password");
}

enum http_progress account_handlers_delete(void *ctx, struct http_exchange *x)
{
	(void)x;
	return check(ctx, "password", NULL);
}

struct settings_change {
	bool has_name, has_tz, has_locale, has_theme, has_mail_dead_links, has_mail_monthly_report,
		has_workspace_id;
	char name[USER_NAME_SIZE];
	/* tz has the length of a zone, but may be unknown. */
	struct user_settings settings;
};

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

static void read_workspace_id(const struct json *object, struct settings_change *out,
                              struct http_problem_fields *wrong)
{
	const struct json *value = json_get(object, "workspace_id");
	if (!value)
		return;
	out->has_workspace_id = true;
	if (json_type(value) == JSON_INT && json_int(value) > 0)
		out->settings.workspace_id = json_int(value);
	else if (json_type(value) != JSON_NULL)
		http_problem_add_field(wrong, "/workspace_id", "id",
		                       "must be null or the number of a workspace");
}

static bool read_bool(const struct json *object, const char *name, bool *out,
                      struct http_problem_fields *wrong)
{
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	const struct json *value = json_get(object, name);
	if (!value)
		return false;
	member_pointer(name, pointer);
	if (json_type(value) == JSON_BOOL)
		*out = json_bool(value);
	else
		http_problem_add_field(wrong, pointer, "type", "must be true or false");
	return true;
}

/*
 * {name?, tz?, locale?, theme?, workspace_id?, mail_dead_links?, mail_monthly_report?}. Members that are
 * not sent stay as they are; null for tz or locale means: as the browser says. locale: a language,
 * optionally with script and region, in the case of BCP 47 (de, pt-BR, zh-Hans-CN).
 */
static enum err read_settings(const struct json *object, struct settings_change *out,
                              struct http_problem_fields *wrong)
{
	static const char *const names[] = { "name",
		                             "tz",
		                             "locale",
		                             "theme",
		                             "workspace_id",
		                             "mail_dead_links",
		                             "mail_monthly_report" };
	struct settings_change read = { 0 };
	member_reject_unknown(object, names, ARRAY_SIZE(names), wrong);
	read_name(object, &read, wrong);
	read_tz(object, &read, wrong);
	read_locale(object, &read, wrong);
	read_theme(object, &read, wrong);
	read_workspace_id(object, &read, wrong);
	read.has_mail_dead_links =
		read_bool(object, "mail_dead_links", &read.settings.mail_dead_links, wrong);
	read.has_mail_monthly_report =
		read_bool(object, "mail_monthly_report", &read.settings.mail_monthly_report, wrong);
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

static bool set_bool(bool *out, bool value)
{
	bool is_other = *out != value;
	*out = value;
	return is_other;
}

/* Returns true if any of them is another one now. Where somebody was last is no decision of theirs. */
static bool apply_settings(const struct settings_change *change, struct user *user)
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
	if (change->has_mail_dead_links)
		is_changed |= set_bool(&to->mail_dead_links, change->settings.mail_dead_links);
	if (change->has_mail_monthly_report)
		is_changed |=
			set_bool(&to->mail_monthly_report, change->settings.mail_monthly_report);
	return is_changed;
}

struct update {
	const struct request *request;
	struct settings_change change;
	/* After the change. */
	struct user user;
	bool has_unknown_zone;
};

/* The lock keeps another request from changing other members meanwhile. */
static enum err change_on(void *ctx, struct pg_conn *conn)
{
	struct update *u = ctx;
	const struct request *r = u->request;
	const char *tz = u->change.settings.tz;
	enum err err = *tz ? time_zones_check(r->api->zones, conn, tz) : OK;
	u->has_unknown_zone = err == ERR_NOT_FOUND;
	if (err == OK)
		err = user_store_lock(conn, r->user_id);
	if (err == OK)
		err = user_store_get(conn, r->user_id, &u->user);
	if (err != OK)
		return err;
	bool is_decision = apply_settings(&u->change, &u->user);
	if (u->change.has_workspace_id)
		u->user.settings.workspace_id = u->change.settings.workspace_id;
	else if (!is_decision)
		return OK;
	err = user_store_set_settings(conn, &u->user);
	return err == OK && is_decision ? audit_store_record(r, conn, "user.settings",
	                                                     AUDIT_STORE_USER, r->user_id, NULL)
	                                : err;
}

enum http_progress account_handlers_change(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct update update = { .request = r };
	struct http_problem_fields wrong = { 0 };
	struct json *body = request_body_read(r);
	if (!body)
		return HTTP_COMPLETE;
	enum err err = read_settings(body, &update.change, &wrong);
	json_free(body);
	if (err != OK)
		return response_invalid_fields(r, &wrong);
	err = pg_pool_transact(r->api->pg, change_on, &update);
	if (update.has_unknown_zone) {
		http_problem_add_field(&wrong, "/tz", "time-zone", USER_SETTINGS_TZ_DETAIL);
		return response_invalid_fields(r, &wrong);
	}
	if (err == ERR_NOT_FOUND)
		return response_unauthorized(r, REQUEST_AUTH_INVALID);
	return err == OK ? response_json(r, 200, user_store_json(&update.user))
	                 : response_failure(r, err);
}
