/*
 * Single sign-on: a browser goes to a provider, comes back with a code, and gets a session. Errors land
 * on a page of the dashboard, with a code that its catalogues turn into a sentence: on the login page,
 * or on the account page for somebody who ties a provider to their account.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/url.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/accounts/oidc_person.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/query_params.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/authentication.h"
#include "services/links-api/identity/oidc_client.h"
#include "services/links-api/identity/oidc_store.h"
#include "services/links-api/identity/oidc_token.h"
#include "services/links-api/identity/session.h"
#include "services/links-api/identity/user_store.h"

#define HOST_MAX 255
#define URI_SIZE 1024
#define URL_BYTES_MAX 16384
#define COOKIE_HEADER_SIZE (OIDC_LOGIN_COOKIE_SIZE + 128)
#define BUSY_RETRY_S 2

/* One request that waits for a provider. */
struct sign_on {
	struct request *request;
	const struct oidc_provider *provider;
	void (*run)(struct sign_on *s);
	struct oidc_login login;
	char redirect_uri[URI_SIZE];
	/* Parameters of the callback; "" = not sent. */
	char code[QUERY_PARAMS_VALUE_SIZE];
	char state[QUERY_PARAMS_VALUE_SIZE];
	char issuer[QUERY_PARAMS_VALUE_SIZE];
	char error[QUERY_PARAMS_VALUE_SIZE];
	/* Owned. */
	struct json *claims;
};

static void release(void *state)
{
	struct sign_on *s = state;
	json_free(s->claims);
	explicit_bzero(s, sizeof(*s));
	free(s);
}

static struct sign_on *sign_on_new(struct request *r, const struct oidc_provider *provider)
{
	struct sign_on *s = mem_zero(sizeof(*s));
	s->request = r;
	s->provider = provider;
	r->handler_state = s;
	r->release_handler_state = release;
	return s;
}

/* --- where the browser goes next --- */

static enum http_progress redirect(struct request *r, const char *location)
{
	if (http_exchange_add_header(r->exchange, "Location", location) != OK)
		return response_failure(r, ERR_INTERNAL);
	http_exchange_set_status(r->exchange, 303);
	return HTTP_COMPLETE;
}

static enum http_progress fail(struct sign_on *s, const char *code)
{
	struct request *r = s->request;
	char location[64];
	log_info(r->api->log, "sign_on_refused", LOG_TEXT("provider", s->provider->id),
	         LOG_TEXT("code", code),
	         LOG_TEXT("request_id", http_exchange_request_id(r->exchange)));
	snprintf(location, sizeof(location), "/app/%s?error=%s",
	         s->login.user_id ? "account" : "login", code);
	return redirect(r, location);
}

/* What an error of oidc_client.h means for a person. */
static enum http_progress fail_of(struct sign_on *s, enum err err)
{
	switch (err) {
	case ERR_UNAVAILABLE:
		return fail(s, "oidc-away");
	case ERR_NOT_FOUND:
		return fail(s, "oidc-refused");
	default:
		return fail(s, "oidc-answer");
	}
}

/*
 * This server as the browser knows it: that of DASHBOARD_URL, or else the Host of the request, because
 * PUBLIC_BASE_URL may be another one. A provider sends people to addresses that it knows only.
 */
static bool write_own_url(const struct request *r, const char *path, char out[static URI_SIZE])
{
	static const char characters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._:[]";
	struct url parts;
	const char *own = r->api->config->dashboard_url;
	const char *host = http_exchange_header(r->exchange, "Host");
	size_t len = host ? strspn(host, characters) : 0;
	int out_len = 0;
	if (url_split(own, strlen(own), &parts) == OK)
		out_len =
			snprintf(out, URI_SIZE, "%.*s%s", (int)(parts.path.text - own), own, path);
	else if (len > 0 && len <= HOST_MAX && !host[len])
		out_len = snprintf(out, URI_SIZE, "%s://%s%s", r->api->is_https ? "https" : "http",
		                   host, path);
	return out_len > 0 && out_len < URI_SIZE;
}

/* --- the cookie of a login --- */

static const char *cookie_name(const struct request *r)
{
	return r->api->is_https ? "__Host-waymark-login" : "waymark-login";
}

static enum err add_cookie(struct request *r, const char *value, int64_t max_age_s)
{
	char header[COOKIE_HEADER_SIZE];
	snprintf(header, sizeof(header),
	         "%s=%s; Path=/; Max-Age=%" PRId64 "; HttpOnly; SameSite=Lax%s", cookie_name(r),
	         value, max_age_s, r->api->is_https ? "; Secure" : "");
	return http_exchange_add_header(r->exchange, "Set-Cookie", header);
}

/* --- jobs --- */

static void run_job(void *state)
{
	struct sign_on *s = state;
	struct http_exchange *x = s->request->exchange;
	s->run(s);
	http_exchange_resume(x);
}

static enum http_progress send_busy(struct request *r)
{
	response_add_retry_after(r, BUSY_RETRY_S);
	return response_problem(r, 503, "overloaded",
	                        "Too many logins wait for their provider. Reload this page.");
}

static void reject_job(void *state)
{
	struct sign_on *s = state;
	struct http_exchange *x = s->request->exchange;
	send_busy(s->request);
	http_exchange_resume(x);
}

static enum http_progress submit(struct sign_on *s, void (*run)(struct sign_on *s))
{
	const struct fair_queue_job job = {
		.flow = request_flow(s->request, s->request->user_id),
		.run = run_job,
		.reject = reject_job,
		.arg = s,
	};
	s->run = run;
	return oidc_client_submit(s->request->api->oidc, &job) == OK ? HTTP_PENDING
	                                                             : send_busy(s->request);
}

/* NULL: the response is complete. */
static struct sign_on *begin(struct request *r)
{
	char path[128];
	const struct oidc_provider *provider = oidc_client_find(r->api->oidc, r->match.params[0]);
	if (!provider) {
		response_problem(r, 404, "not-found",
		                 "No provider has this id: GET /api/instance lists them.");
		return NULL;
	}
	struct sign_on *s = sign_on_new(r, provider);
	snprintf(path, sizeof(path), "/api/auth/oidc/%s/callback", provider->id);
	if (write_own_url(r, path, s->redirect_uri))
		return s;
	response_problem(r, 400, NULL, "The header Host must name this server.");
	return NULL;
}

/* --- GET /api/auth/oidc/{provider} --- */

static void start_job(struct sign_on *s)
{
	struct request *r = s->request;
	char cookie[OIDC_LOGIN_COOKIE_SIZE];
	struct strbuf url;
	strbuf_init(&url, URL_BYTES_MAX);
	oidc_login_begin(r->api->secrets, s->provider->id, request_now_us(r) / CLOCK_US_PER_S,
	                 &s->login, cookie);
	enum err err =
		oidc_client_login_url(r->api->oidc, s->provider, &s->login, s->redirect_uri, &url);
	if (err != OK)
		fail_of(s, err);
	else if (add_cookie(r, cookie, OIDC_LOGIN_LIFETIME_S) != OK)
		response_failure(r, ERR_INTERNAL);
	else
		redirect(r, url.data);
	strbuf_clear(&url);
}

/* Fills who ties the provider to their account. OK: a session of our own page names somebody. */
static enum err find_tier(struct sign_on *s)
{
	struct request *r = s->request;
	enum request_auth login = authentication_read(r);
	enum err err = login == REQUEST_AUTH_VALID ? authentication_verify(r, &login) : OK;
	if (err == OK && (login != REQUEST_AUTH_VALID || r->session_id == 0))
		err = ERR_NOT_FOUND;
	s->login.user_id = err == OK ? r->user_id : 0;
	s->login.session_id = err == OK ? r->session_id : 0;
	return err;
}

enum http_progress oidc_handlers_start(void *ctx, struct http_exchange *x)
{
	struct request *r = ctx;
	int64_t is_link = 0;
	struct query_param params[] = {
		{ .name = "link", .number = &is_link, .min = 0, .max = 1 },
	};
	struct http_problem_fields wrong = { 0 };
	if (query_params_read(http_exchange_query(x), params, 1, &wrong) != OK)
		return response_invalid_fields(r, &wrong);
	struct sign_on *s = begin(r);
	if (!s)
		return HTTP_COMPLETE;
	enum err err = is_link ? find_tier(s) : OK;
	if (err == ERR_NOT_FOUND)
		return fail(s, "oidc-session");
	return err == OK ? submit(s, start_job) : response_failure(r, err);
}

/* --- GET /api/auth/oidc/{provider}/callback --- */

/*
 * Reads the parameters that the standards name; providers add others. False: one is given twice, or
 * cannot be decoded.
 */
static bool read_params(struct sign_on *s)
{
	struct {
		const char *name;
		char *out;
	} params[] = {
		{ "code", s->code },
		{ "state", s->state },
		{ "iss", s->issuer },
		{ "error", s->error },
	};
	const char *query = http_exchange_query(s->request->exchange);
	struct query_pair pair;
	while (query_params_next(&query, &pair)) {
		for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++) {
			if (strcmp(params[i].name, pair.name) != 0)
				continue;
			if (pair.err != OK || *params[i].out || !*pair.value)
				return false;
			snprintf(params[i].out, QUERY_PARAMS_VALUE_SIZE, "%s", pair.value);
		}
	}
	return *s->state && (*s->code != '\0') != (*s->error != '\0');
}

/* Whether this browser began this login with this provider. */
static bool read_login(struct sign_on *s)
{
	struct request *r = s->request;
	const char *cookie;
	uint8_t expected[DIGEST_SIZE], sent[DIGEST_SIZE];
	if (http_exchange_cookie(r->exchange, cookie_name(r), &cookie) != OK ||
	    oidc_login_read(r->api->secrets, s->provider->id, request_now_us(r) / CLOCK_US_PER_S,
	                    cookie, &s->login) != OK)
		return false;
	digest_sha256(s->login.state, strlen(s->login.state), expected);
	digest_sha256(s->state, strlen(s->state), sent);
	return digest_equal(expected, sent);
}

/* ERR_INVALID: another provider sent the answer (RFC 9207). */
static enum err check_issuer(struct sign_on *s)
{
	bool is_needed = false;
	enum err err = oidc_client_sends_issuer(s->request->api->oidc, s->provider, &is_needed);
	if (err != OK)
		return err;
	if (*s->issuer ? strcmp(s->issuer, s->provider->issuer) != 0 : is_needed)
		return ERR_INVALID;
	return OK;
}

static enum err use_login_on(void *ctx, struct pg_conn *conn)
{
	struct sign_on *s = ctx;
	return oidc_store_use_login(conn, s->login.hash);
}

static enum http_progress let_in(struct sign_on *s, const struct user *user)
{
	struct request *r = s->request;
	if (s->login.user_id)
		return redirect(r, "/app/account?tied=1");
	enum err err = session_open(r, user, s->provider->id);
	if (err == ERR_NOT_FOUND)
		return fail(s, "oidc-state"); /* the account has changed meanwhile */
	return err == OK ? redirect(r, "/app/") : fail(s, "oidc-failed");
}

static enum http_progress come_in(struct sign_on *s)
{
	struct user user;
	const char *refusal = NULL;
	const struct oidc_person person = { .request = s->request,
		                            .provider = s->provider,
		                            .login = &s->login,
		                            .claims = s->claims };
	enum err err = oidc_person_come_in(&person, &user, &refusal);
	if (err != OK)
		return fail(s, refusal ? refusal : "oidc-failed");
	return let_in(s, &user);
}

static void callback_job(struct sign_on *s)
{
	struct request *r = s->request;
	(void)!add_cookie(r, "", 0);
	enum err err = check_issuer(s);
	if (err != OK) {
		if (err == ERR_INVALID)
			fail(s, "oidc-issuer");
		else
			fail_of(s, err);
		return;
	}
	if (*s->error) {
		fail(s, strcmp(s->error, "access_denied") == 0 ? "oidc-denied" : "oidc-refused");
		return;
	}
	err = pg_pool_transact(r->api->pg, use_login_on, s);
	if (err != OK) {
		fail(s, err == ERR_CONFLICT ? "oidc-state" : "oidc-failed");
		return;
	}
	err = oidc_client_exchange(r->api->oidc, s->provider, &s->login, s->code, s->redirect_uri,
	                           &s->claims);
	if (err != OK)
		fail_of(s, err);
	else
		come_in(s);
}

enum http_progress oidc_handlers_callback(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct sign_on *s = begin(ctx);
	if (!s)
		return HTTP_COMPLETE;
	if (!read_params(s) || !read_login(s))
		return fail(s, "oidc-state");
	return submit(s, callback_job);
}

/* --- POST /api/auth/logout --- */

static enum http_progress send_logged_out(struct request *r, const char *url)
{
	struct json *response = json_new_object();
	json_set_text(response, "redirect_to", url);
	return response_json(r, 200, response);
}

static void logout_job(struct sign_on *s)
{
	struct strbuf url;
	strbuf_init(&url, URL_BYTES_MAX);
	enum err err =
		oidc_client_logout_url(s->request->api->oidc, s->provider, s->redirect_uri, &url);
	send_logged_out(s->request, err == OK ? url.data : NULL);
	strbuf_clear(&url);
}

/* The session ends here whatever the provider does; the browser ends the one there. */
enum http_progress oidc_handlers_logout(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	char id[OIDC_TOKEN_PROVIDER_MAX + 1];
	enum err err = session_end(r, id);
	if (err != OK)
		return response_deleted(r, err);
	const struct oidc_provider *provider = oidc_client_find(r->api->oidc, id);
	if (!provider)
		return send_logged_out(r, NULL);
	struct sign_on *s = sign_on_new(r, provider);
	return write_own_url(r, "/app/login", s->redirect_uri) ? submit(s, logout_job)
	                                                       : send_logged_out(r, NULL);
}
