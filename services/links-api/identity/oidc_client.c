#include "services/links-api/identity/oidc_client.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/links-api/identity/oidc_request.h"
#include "services/links-api/identity/oidc_token.h"

#define DISCOVERY "/.well-known/openid-configuration"
#define METADATA_US CLOCK_US_PER_HOUR
#define KEYS_US (600 * CLOCK_US_PER_S)
#define URL_SIZE (OIDC_CONFIG_URL_MAX + sizeof(DISCOVERY))
#define ERROR_SIZE 64
#define HTTP_OK 200

/* What is known of a provider. */
struct state {
	/* Held during a request for metadata or keys. */
	pthread_mutex_t lock;
	/* NULL = not read yet. Steady times. */
	struct json *metadata;
	int64_t metadata_at_us;
	struct json *keys;
	int64_t keys_at_us;
	/* Not asked again before. */
	int64_t away_until_us;
};

struct oidc_client {
	struct oidc_config config;
	const struct clock *clock;
	const struct log *log;
	struct worker_pool *workers;
	struct state states[OIDC_CONFIG_PROVIDERS_MAX];
};

enum err oidc_client_new(const char *path, const char *required_claim, const struct clock *clock,
                         const struct log *log, struct oidc_client **out)
{
	struct oidc_client *client = mem_zero(sizeof(*client));
	struct strbuf problems;
	strbuf_init(&problems, 65536);
	enum err err = oidc_config_read(path, required_claim, &client->config, &problems);
	if (err != OK)
		log_error(log, "configuration_refused", LOG_TEXT("message", problems.data));
	strbuf_clear(&problems);
	if (err != OK || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		free(client);
		return ERR_INVALID;
	}
	client->clock = clock;
	client->log = log;
	for (size_t i = 0; i < OIDC_CONFIG_PROVIDERS_MAX; i++)
		pthread_mutex_init(&client->states[i].lock, NULL);
	client->workers =
		worker_pool_new_fair("oidc", OIDC_CLIENT_THREADS, OIDC_CLIENT_WAITING_MAX, 1);
	*out = client;
	return OK;
}

void oidc_client_free(struct oidc_client *client)
{
	if (!client)
		return;
	worker_pool_free(client->workers);
	for (size_t i = 0; i < OIDC_CONFIG_PROVIDERS_MAX; i++) {
		json_free(client->states[i].metadata);
		json_free(client->states[i].keys);
		pthread_mutex_destroy(&client->states[i].lock);
	}
	oidc_config_clear(&client->config);
	curl_global_cleanup();
	free(client);
}

const struct oidc_provider *oidc_client_find(const struct oidc_client *client, const char *id)
{
	return oidc_config_find(&client->config, id);
}

struct json *oidc_client_list(const struct oidc_client *client)
{
	struct json *list = json_new_array();
	for (size_t i = 0; i < client->config.count; i++) {
		struct json *item = json_new_object();
		json_set_text(item, "id", client->config.providers[i].id);
		json_set_text(item, "name", client->config.providers[i].name);
		json_append(list, item);
	}
	return list;
}

enum err oidc_client_submit(struct oidc_client *client, const struct fair_queue_job *job)
{
	return worker_pool_submit_job(client->workers, job, OIDC_CLIENT_WAITING_MAX);
}

static struct state *state_of(struct oidc_client *client, const struct oidc_provider *provider)
{
	return &client->states[provider - client->config.providers];
}

static enum err refuse(const struct oidc_client *client, const struct oidc_provider *provider,
                       const char *url, const char *reason)
{
	log_limited_warning(client->log, "oidc_answer_refused", LOG_TEXT("provider", provider->id),
	                    LOG_TEXT("url", url), LOG_TEXT("message", reason));
	return ERR_INVALID;
}

/* A member that is a text, or "". */
static const char *text_of(const struct json *object, const char *name)
{
	const struct json *value = json_get(object, name);
	return value && json_type(value) == JSON_TEXT ? json_text(value, NULL) : "";
}

static enum err be_away(struct oidc_client *client, const struct oidc_request *request,
                        const char *reason, long status)
{
	struct state *state = state_of(client, request->provider);
	__atomic_store_n(&state->away_until_us,
	                 clock_steady_us(client->clock) + OIDC_CLIENT_AWAY_MS * CLOCK_US_PER_MS,
	                 __ATOMIC_RELAXED);
	log_limited_warning(client->log, "oidc_provider_away",
	                    LOG_TEXT("provider", request->provider->id),
	                    LOG_TEXT("url", request->url), LOG_TEXT("message", reason),
	                    LOG_INT("status", status));
	return ERR_UNAVAILABLE;
}

static enum err ask(struct oidc_client *client, const struct oidc_request *request,
                    struct json **answer, long *status)
{
	const struct state *state = state_of(client, request->provider);
	const char *reason = NULL;
	if (clock_steady_us(client->clock) <
	    __atomic_load_n(&state->away_until_us, __ATOMIC_RELAXED))
		return ERR_UNAVAILABLE;
	enum err err = oidc_request_send(request, answer, status, &reason);
	if (err == ERR_UNAVAILABLE)
		return be_away(client, request, reason, *status);
	return err == OK ? OK : refuse(client, request->provider, request->url, reason);
}

static enum err get(struct oidc_client *client, const struct oidc_provider *provider,
                    const char *url, const char *access_token, struct json **out)
{
	const struct oidc_request request = { .provider = provider,
		                              .url = url,
		                              .access_token = access_token };
	struct json *answer = NULL;
	long status = 0;
	enum err err = ask(client, &request, &answer, &status);
	if (err == OK && status != HTTP_OK) {
		json_free(answer);
		err = refuse(client, provider, url, "its status is not 200");
	}
	if (err == OK)
		*out = answer;
	return err;
}

/* --- discovery and keys; the caller holds the lock --- */

static const char *check_metadata(const struct oidc_provider *provider, const struct json *metadata)
{
	static const char *const required[] = { "authorization_endpoint", "token_endpoint",
		                                "jwks_uri", NULL };
	static const char *const optional[] = { "userinfo_endpoint", "end_session_endpoint", NULL };
	if (strcmp(text_of(metadata, "issuer"), provider->issuer) != 0)
		return "issuer is not the one of OIDC_CONFIG";
	for (size_t i = 0; required[i]; i++)
		if (!oidc_config_is_url(text_of(metadata, required[i])))
			return "an endpoint is missing or not an https:// URL";
	for (size_t i = 0; optional[i]; i++)
		if (json_get(metadata, optional[i]) &&
		    !oidc_config_is_url(text_of(metadata, optional[i])))
			return "an optional endpoint is not an https:// URL";
	return NULL;
}

static enum err fetch_metadata(struct oidc_client *client, const struct oidc_provider *provider,
                               struct json **out)
{
	char url[URL_SIZE];
	struct json *metadata = NULL;
	size_t len = strlen(provider->issuer);
	while (len > 0 && provider->issuer[len - 1] == '/')
		len--;
	snprintf(url, sizeof(url), "%.*s" DISCOVERY, (int)len, provider->issuer);
	enum err err = get(client, provider, url, NULL, &metadata);
	if (err != OK)
		return err;
	const char *reason = check_metadata(provider, metadata);
	if (!reason) {
		*out = metadata;
		return OK;
	}
	json_free(metadata);
	return refuse(client, provider, url, reason);
}

/* Old metadata is better than none. */
static enum err need_metadata(struct oidc_client *client, const struct oidc_provider *provider)
{
	struct state *state = state_of(client, provider);
	int64_t now_us = clock_steady_us(client->clock);
	struct json *metadata = NULL;
	if (state->metadata && now_us - state->metadata_at_us < METADATA_US)
		return OK;
	enum err err = fetch_metadata(client, provider, &metadata);
	if (err == OK) {
		json_free(state->metadata);
		state->metadata = metadata;
		state->metadata_at_us = now_us;
	}
	return state->metadata ? OK : err;
}

static enum err need_keys(struct oidc_client *client, const struct oidc_provider *provider,
                          int64_t age_max_us)
{
	struct state *state = state_of(client, provider);
	int64_t now_us = clock_steady_us(client->clock);
	struct json *keys = NULL;
	if (state->keys && now_us - state->keys_at_us < age_max_us)
		return OK;
	enum err err = get(client, provider, text_of(state->metadata, "jwks_uri"), NULL, &keys);
	if (err != OK)
		return err;
	json_free(state->keys);
	state->keys = keys;
	state->keys_at_us = now_us;
	return OK;
}

/* Copies an endpoint; "" = there is none. */
static enum err find_endpoint(struct oidc_client *client, const struct oidc_provider *provider,
                              const char *name, char out[static OIDC_CONFIG_URL_MAX + 1])
{
	struct state *state = state_of(client, provider);
	pthread_mutex_lock(&state->lock);
	enum err err = need_metadata(client, provider);
	if (err == OK)
		snprintf(out, OIDC_CONFIG_URL_MAX + 1, "%s", text_of(state->metadata, name));
	pthread_mutex_unlock(&state->lock);
	return err;
}

/* --- addresses for browsers --- */

static void join(const char *endpoint, const struct strbuf *query, struct strbuf *url)
{
	strbuf_add_format(url, "%s%c%s", endpoint, strchr(endpoint, '?') ? '&' : '?', query->data);
}

enum err oidc_client_login_url(struct oidc_client *client, const struct oidc_provider *provider,
                               const struct oidc_login *login, const char *redirect_uri,
                               struct strbuf *url)
{
	char endpoint[OIDC_CONFIG_URL_MAX + 1], challenge[OIDC_LOGIN_CHALLENGE_SIZE];
	enum err err = find_endpoint(client, provider, "authorization_endpoint", endpoint);
	if (err != OK)
		return err;
	struct strbuf query;
	strbuf_init(&query, OIDC_REQUEST_FORM_BYTES_MAX);
	oidc_login_challenge(login, challenge);
	oidc_request_add_param(&query, "response_type", "code");
	oidc_request_add_param(&query, "client_id", provider->client_id);
	oidc_request_add_param(&query, "redirect_uri", redirect_uri);
	oidc_request_add_param(&query, "scope", provider->scopes);
	oidc_request_add_param(&query, "state", login->state);
	oidc_request_add_param(&query, "nonce", login->nonce);
	oidc_request_add_param(&query, "code_challenge", challenge);
	oidc_request_add_param(&query, "code_challenge_method", "S256");
	join(endpoint, &query, url);
	strbuf_clear(&query);
	return OK;
}

enum err oidc_client_logout_url(struct oidc_client *client, const struct oidc_provider *provider,
                                const char *return_uri, struct strbuf *url)
{
	char endpoint[OIDC_CONFIG_URL_MAX + 1];
	enum err err = find_endpoint(client, provider, "end_session_endpoint", endpoint);
	if (err != OK || !*endpoint)
		return err == OK ? ERR_NOT_FOUND : err;
	struct strbuf query;
	strbuf_init(&query, OIDC_REQUEST_FORM_BYTES_MAX);
	oidc_request_add_param(&query, "client_id", provider->client_id);
	oidc_request_add_param(&query, "post_logout_redirect_uri", return_uri);
	join(endpoint, &query, url);
	strbuf_clear(&query);
	return OK;
}

enum err oidc_client_sends_issuer(struct oidc_client *client, const struct oidc_provider *provider,
                                  bool *sends)
{
	struct state *state = state_of(client, provider);
	pthread_mutex_lock(&state->lock);
	enum err err = need_metadata(client, provider);
	if (err == OK)
		*sends = oidc_token_has(state->metadata,
		                        "authorization_response_iss_parameter_supported", "true");
	pthread_mutex_unlock(&state->lock);
	return err;
}

/* --- the code --- */

/* Without a list the standard's default is client_secret_basic. */
static bool uses_basic_auth(const struct json *metadata)
{
	static const char name[] = "token_endpoint_auth_methods_supported";
	return !json_get(metadata, name) || oidc_token_has(metadata, name, "client_secret_basic");
}

/* Only what RFC 6749 allows in a code of an error is logged. */
static enum err log_refusal(const struct oidc_client *client, const struct oidc_provider *provider,
                            const struct json *answer, long status)
{
	char error[ERROR_SIZE];
	const char *sent = text_of(answer, "error");
	size_t len = strspn(sent, "abcdefghijklmnopqrstuvwxyz_");
	snprintf(error, sizeof(error), "%.*s", (int)len, sent);
	log_limited_warning(client->log, "oidc_code_refused", LOG_TEXT("provider", provider->id),
	                    LOG_INT("status", status), LOG_TEXT("error", error));
	return ERR_NOT_FOUND;
}

static enum err post_code(struct oidc_client *client, const struct oidc_provider *provider,
                          const char *form, bool has_basic_auth, struct json **out)
{
	char endpoint[OIDC_CONFIG_URL_MAX + 1];
	struct json *answer = NULL;
	long status = 0;
	enum err err = find_endpoint(client, provider, "token_endpoint", endpoint);
	if (err != OK)
		return err;
	const struct oidc_request request = { .provider = provider,
		                              .url = endpoint,
		                              .form = form,
		                              .has_basic_auth = has_basic_auth };
	err = ask(client, &request, &answer, &status);
	if (err == OK && status != HTTP_OK)
		err = log_refusal(client, provider, answer, status);
	else if (err == OK && !*text_of(answer, "id_token"))
		err = refuse(client, provider, endpoint, "it has no id_token");
	if (err == OK)
		*out = answer;
	else
		json_free(answer);
	return err;
}

static enum err send_code(struct oidc_client *client, const struct oidc_provider *provider,
                          const struct oidc_login *login, const char *code,
                          const char *redirect_uri, struct json **out)
{
	struct state *state = state_of(client, provider);
	struct strbuf form;
	bool has_basic_auth = false;
	pthread_mutex_lock(&state->lock);
	enum err err = need_metadata(client, provider);
	if (err == OK)
		has_basic_auth = *provider->client_secret && uses_basic_auth(state->metadata);
	pthread_mutex_unlock(&state->lock);
	if (err != OK)
		return err;
	strbuf_init(&form, OIDC_REQUEST_FORM_BYTES_MAX);
	oidc_request_add_param(&form, "grant_type", "authorization_code");
	oidc_request_add_param(&form, "code", code);
	oidc_request_add_param(&form, "redirect_uri", redirect_uri);
	oidc_request_add_param(&form, "code_verifier", login->verifier);
	if (!has_basic_auth)
		oidc_request_add_param(&form, "client_id", provider->client_id);
	if (!has_basic_auth && *provider->client_secret)
		oidc_request_add_param(&form, "client_secret", provider->client_secret);
	err = strbuf_status(&form) == OK
	              ? post_code(client, provider, form.data, has_basic_auth, out)
	              : ERR_INVALID;
	explicit_bzero(form.data, form.len);
	strbuf_clear(&form);
	return err;
}

/* --- the person --- */

static enum err verify(struct oidc_client *client, const struct oidc_provider *provider,
                       const struct oidc_login *login, const char *token, struct json **claims)
{
	struct state *state = state_of(client, provider);
	const char *reason = "";
	struct oidc_token_check check = {
		.provider = provider,
		.nonce = login->nonce,
		.now_s = clock_now_us(client->clock) / CLOCK_US_PER_S,
	};
	pthread_mutex_lock(&state->lock);
	enum err err = need_keys(client, provider, KEYS_US);
	for (int i = 0; err == OK && i < 2; i++) {
		check.keys = state->keys;
		err = oidc_token_verify(&check, token, strlen(token), claims, &reason);
		if (err != ERR_NOT_FOUND || i == 1)
			break;
		err = need_keys(client, provider, OIDC_CLIENT_KEYS_MS * CLOCK_US_PER_MS);
	}
	pthread_mutex_unlock(&state->lock);
	if (err != OK && err != ERR_UNAVAILABLE && *reason)
		return refuse(client, provider, provider->issuer, reason);
	return err;
}

static bool lacks_claims(const struct oidc_provider *provider, const struct json *claims)
{
	return !json_get(claims, "email") || !json_get(claims, "email_verified") ||
	       (*provider->groups_claim && !oidc_token_find(claims, provider->groups_claim)) ||
	       !oidc_token_has_pair(claims, provider->required_claim) ||
	       !oidc_token_has_pair(claims, provider->required_claim_of_all);
}

/* What the signed token says stays. */
static void add_claims(struct json *claims, const struct json *more)
{
	const char *name;
	struct json *value;
	for (size_t at = json_next(more, 0, &name, &value); at;
	     at = json_next(more, at, &name, &value))
		if (!json_get(claims, name))
			json_set(claims, name, json_share(value));
}

static enum err ask_userinfo(struct oidc_client *client, const struct oidc_provider *provider,
                             const char *access_token, struct json *claims)
{
	char endpoint[OIDC_CONFIG_URL_MAX + 1];
	struct json *more = NULL;
	enum err err = find_endpoint(client, provider, "userinfo_endpoint", endpoint);
	if (err != OK || !*endpoint || !*access_token)
		return err;
	if (strpbrk(access_token, "\r\n"))
		return refuse(client, provider, endpoint, "access_token has a line break");
	err = get(client, provider, endpoint, access_token, &more);
	if (err != OK)
		return err;
	if (strcmp(text_of(more, "sub"), text_of(claims, "sub")) == 0)
		add_claims(claims, more);
	else
		err = refuse(client, provider, endpoint, "its sub is not the one of the ID token");
	json_free(more);
	return err;
}

enum err oidc_client_exchange(struct oidc_client *client, const struct oidc_provider *provider,
                              const struct oidc_login *login, const char *code,
                              const char *redirect_uri, struct json **claims)
{
	struct json *answer = NULL, *read = NULL;
	enum err err = send_code(client, provider, login, code, redirect_uri, &answer);
	if (err == OK)
		err = verify(client, provider, login, text_of(answer, "id_token"), &read);
	if (err == OK && lacks_claims(provider, read))
		err = ask_userinfo(client, provider, text_of(answer, "access_token"), read);
	json_free(answer);
	if (err == OK)
		*claims = read;
	else
		json_free(read);
	return err;
}
