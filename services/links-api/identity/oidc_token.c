#include "services/links-api/identity/oidc_token.h"

#include <cjose/base64.h>
#include <cjose/header.h>
#include <cjose/jwk.h>
#include <cjose/jws.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/strbuf.h"
#include "services/links-api/identity/oidc_config.h"

/* Base64url of a modulus of 2,048 bits. */
#define RSA_MODULUS_CHARS_MIN 342
#define KEY_BYTES_MAX 16384
#define NAME_MAX_BYTES 128

static const struct algorithm {
	const char *name;
	/* Type of its key; crv: its curve. */
	const char *kty, *crv;
} algorithms[] = {
	{ "RS256", "RSA", NULL },   { "RS384", "RSA", NULL },   { "RS512", "RSA", NULL },
	{ "PS256", "RSA", NULL },   { "PS384", "RSA", NULL },   { "PS512", "RSA", NULL },
	{ "ES256", "EC", "P-256" }, { "ES384", "EC", "P-384" }, { "ES512", "EC", "P-521" },
	{ "HS256", "oct", NULL },   { "HS384", "oct", NULL },   { "HS512", "oct", NULL },
};

static const struct algorithm *find_algorithm(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(algorithms); i++)
		if (strcmp(algorithms[i].name, name) == 0)
			return &algorithms[i];
	return NULL;
}

bool oidc_token_knows_algorithm(const char *name)
{
	return find_algorithm(name) != NULL;
}

static bool has_text(const struct json *array, const char *text)
{
	for (size_t i = 0; i < json_count(array); i++) {
		const struct json *item = json_at(array, i);
		if (json_type(item) == JSON_TEXT && strcmp(json_text(item, NULL), text) == 0)
			return true;
	}
	return false;
}

/* A member that is a text, or "". */
static const char *text_of(const struct json *object, const char *name)
{
	const struct json *value = json_get(object, name);
	return value && json_type(value) == JSON_TEXT ? json_text(value, NULL) : "";
}

/* --- the header --- */

struct header {
	const struct algorithm *algorithm;
	/* "" = none. */
	const char *kid;
	struct json *json;
};

/* Base64url that is not empty, without padding. */
static bool is_base64url(const char *text, size_t len)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	if (len == 0 || len % 4 == 1)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!text[i] || !strchr(alphabet, text[i]))
			return false;
	return true;
}

static bool has_three_parts(const char *token, size_t len)
{
	const char *end = token + len;
	for (size_t part = 0; part < 3; part++) {
		const char *dot = memchr(token, '.', (size_t)(end - token));
		const char *stop = dot ? dot : end;
		if ((dot != NULL) != (part < 2) || !is_base64url(token, (size_t)(stop - token)))
			return false;
		token = stop + 1;
	}
	return true;
}

static enum err parse_object(const uint8_t *text, size_t len, struct json **out)
{
	char reason[JSON_REASON_SIZE];
	struct json *read = NULL;
	if (json_parse((const char *)text, len, &read, reason) != OK)
		return ERR_INVALID;
	if (json_type(read) == JSON_OBJECT) {
		*out = read;
		return OK;
	}
	json_free(read);
	return ERR_INVALID;
}

static enum err decode_header(const char *token, size_t len, struct json **out)
{
	uint8_t *text = NULL;
	size_t text_len = 0;
	cjose_err error;
	const char *dot = memchr(token, '.', len);
	if (!cjose_base64url_decode(token, (size_t)(dot - token), &text, &text_len, &error))
		return ERR_INVALID;
	enum err err = parse_object(text, text_len, out);
	free(text);
	return err;
}

static bool allows(const struct oidc_provider *provider, const char *name)
{
	return provider->algorithms ? has_text(provider->algorithms, name) : name[0] != 'H';
}

/* header->json is the caller's, also after a failure. */
static const char *read_header(const struct oidc_provider *provider, const char *token, size_t len,
                               struct header *header)
{
	if (len > OIDC_TOKEN_BYTES_MAX || !has_three_parts(token, len))
		return "the token is not three parts of base64url";
	if (decode_header(token, len, &header->json) != OK)
		return "its header is not a JSON object";
	header->algorithm = find_algorithm(text_of(header->json, "alg"));
	header->kid = text_of(header->json, "kid");
	if (!header->algorithm || !allows(provider, header->algorithm->name))
		return "its algorithm is not allowed";
	if (json_get(header->json, "crit") || json_get(header->json, "b64"))
		return "its header has critical members";
	if (json_get(header->json, "kid") && !*header->kid)
		return "its kid is not a text";
	return NULL;
}

/* --- keys --- */

/* An absent member fits. */
static bool fits(const struct json *key, const char *name, const char *value)
{
	return !json_get(key, name) || strcmp(text_of(key, name), value) == 0;
}

static bool key_fits(const struct json *key, const struct header *header)
{
	const struct algorithm *algorithm = header->algorithm;
	if (json_type(key) != JSON_OBJECT)
		return false;
	const struct json *uses = json_get(key, "key_ops");
	return strcmp(text_of(key, "kty"), algorithm->kty) == 0 && fits(key, "use", "sig") &&
	       fits(key, "alg", algorithm->name) &&
	       (!algorithm->crv || strcmp(text_of(key, "crv"), algorithm->crv) == 0) &&
	       (!*header->kid || strcmp(text_of(key, "kid"), header->kid) == 0) &&
	       (!uses || (json_type(uses) == JSON_ARRAY && has_text(uses, "verify")));
}

/* NULL: none fits, or without a kid several do. */
static const struct json *find_key(const struct json *keys, const struct header *header)
{
	const struct json *list = json_type(keys) == JSON_OBJECT ? json_get(keys, "keys") : NULL;
	const struct json *found = NULL;
	for (size_t i = 0; list && json_type(list) == JSON_ARRAY && i < json_count(list); i++) {
		const struct json *key = json_at(list, i);
		if (!key_fits(key, header))
			continue;
		if (found)
			return NULL;
		found = key;
	}
	return found;
}

static cjose_jwk_t *import_key(const struct json *key)
{
	struct strbuf text;
	cjose_jwk_t *imported = NULL;
	cjose_err error;
	if (strcmp(text_of(key, "kty"), "RSA") == 0 &&
	    strlen(text_of(key, "n")) < RSA_MODULUS_CHARS_MIN)
		return NULL;
	strbuf_init(&text, KEY_BYTES_MAX);
	json_write(key, &text);
	if (strbuf_status(&text) == OK)
		imported = cjose_jwk_import(text.data, text.len, &error);
	strbuf_clear(&text);
	return imported;
}

static enum err choose_key(const struct oidc_token_check *check, const struct header *header,
                           cjose_jwk_t **out, const char **reason)
{
	cjose_err error;
	const char *secret = check->provider->client_secret;
	const struct json *key = NULL;
	bool is_shared = strcmp(header->algorithm->kty, "oct") == 0;
	if (is_shared)
		*out = cjose_jwk_create_oct_spec((const uint8_t *)secret, strlen(secret), &error);
	else
		key = find_key(check->keys, header);
	if (!is_shared && !key) {
		*reason = "no single key of the provider has its kid, algorithm and use";
		return ERR_NOT_FOUND;
	}
	if (key)
		*out = import_key(key);
	*reason = "the provider's key cannot be used, or is shorter than 2,048 bits";
	return *out ? OK : ERR_INVALID;
}

/* --- the signature --- */

static enum err verify(const cjose_jwk_t *key, const char *token, size_t len, struct json **claims,
                       const char **reason)
{
	cjose_err error;
	uint8_t *payload = NULL;
	size_t payload_len = 0;
	enum err err = ERR_INVALID;
	cjose_jws_t *jws = cjose_jws_import(token, len, &error);
	*reason = "its signature is wrong";
	if (jws && cjose_jws_verify(jws, key, &error) &&
	    cjose_jws_get_plaintext(jws, &payload, &payload_len, &error)) {
		*reason = "its claims are not a JSON object";
		err = parse_object(payload, payload_len, claims); /* jws owns the payload */
	}
	cjose_jws_release(jws);
	return err;
}

/* --- the claims --- */

/* False: absent or no whole number. */
static bool get_time(const struct json *claims, const char *name, int64_t *out)
{
	const struct json *value = json_get(claims, name);
	if (!value || json_type(value) != JSON_INT)
		return false;
	*out = json_int(value);
	return true;
}

static const char *check_times(const struct json *claims, int64_t now_s)
{
	int64_t expires_s, issued_s, from_s;
	if (!get_time(claims, "exp", &expires_s) || !get_time(claims, "iat", &issued_s))
		return "exp or iat is missing or not a number";
	if (expires_s <= now_s - OIDC_TOKEN_SKEW_S)
		return "it has expired; compare the clocks";
	if (issued_s > now_s + OIDC_TOKEN_SKEW_S)
		return "it was issued in the future; compare the clocks";
	if (expires_s < issued_s)
		return "it expires before it was issued";
	if (!json_get(claims, "nbf"))
		return NULL;
	if (!get_time(claims, "nbf", &from_s) || from_s > now_s + OIDC_TOKEN_SKEW_S)
		return "it is not yet valid; compare the clocks";
	return NULL;
}

static const char *check_audience(const struct json *claims, const char *client_id)
{
	const struct json *audience = json_get(claims, "aud");
	bool is_list = audience && json_type(audience) == JSON_ARRAY;
	if (is_list ? !has_text(audience, client_id)
	            : strcmp(text_of(claims, "aud"), client_id) != 0)
		return "aud is not our client_id";
	bool is_for_others = is_list && json_count(audience) > 1;
	if ((json_get(claims, "azp") || is_for_others) &&
	    strcmp(text_of(claims, "azp"), client_id) != 0)
		return "azp is not our client_id";
	return NULL;
}

static bool is_subject(const char *text)
{
	size_t len = strlen(text);
	for (const char *c = text; *c; c++)
		if (*c < ' ' || *c >= 0x7f)
			return false;
	return len > 0 && len <= OIDC_TOKEN_SUBJECT_MAX;
}

static const char *check_claims(const struct oidc_token_check *check, const struct json *claims)
{
	if (strcmp(text_of(claims, "iss"), check->provider->issuer) != 0)
		return "iss is not the issuer of OIDC_CONFIG";
	const char *reason = check_audience(claims, check->provider->client_id);
	if (!reason)
		reason = check_times(claims, check->now_s);
	if (!reason && (!*check->nonce || strcmp(text_of(claims, "nonce"), check->nonce) != 0))
		reason = "nonce is not the one of this login";
	if (!reason && !is_subject(text_of(claims, "sub")))
		reason = "sub is not 1 to 255 ASCII characters";
	return reason;
}

enum err oidc_token_verify(const struct oidc_token_check *check, const char *token, size_t len,
                           struct json **claims, const char **reason)
{
	struct header header = { 0 };
	struct json *read = NULL;
	cjose_jwk_t *key = NULL;
	enum err err = ERR_INVALID;
	*reason = read_header(check->provider, token, len, &header);
	if (!*reason)
		err = choose_key(check, &header, &key, reason);
	if (err == OK)
		err = verify(key, token, len, &read, reason);
	if (key)
		cjose_jwk_release(key);
	json_free(header.json);
	if (err != OK)
		return err;
	*reason = check_claims(check, read);
	if (!*reason)
		*claims = read;
	else
		json_free(read);
	return *reason ? ERR_INVALID : OK;
}

/* --- reading claims --- */

const struct json *oidc_token_find(const struct json *claims, const char *name)
{
	const struct json *value = json_get(claims, name);
	const char *dot = strchr(name, '.');
	char first[NAME_MAX_BYTES];
	if (value || !dot || (size_t)(dot - name) >= sizeof(first))
		return value;
	snprintf(first, sizeof(first), "%.*s", (int)(dot - name), name);
	const struct json *inner = json_get(claims, first);
	return inner && json_type(inner) == JSON_OBJECT ? oidc_token_find(inner, dot + 1) : NULL;
}

const char *oidc_token_text(const struct json *claims, const char *name)
{
	const struct json *value = oidc_token_find(claims, name);
	return value && json_type(value) == JSON_TEXT ? json_text(value, NULL) : NULL;
}

bool oidc_token_has(const struct json *claims, const char *name, const char *value)
{
	char text[32];
	const struct json *claim = oidc_token_find(claims, name);
	if (!claim)
		return false;
	switch (json_type(claim)) {
	case JSON_TEXT:
		return strcmp(json_text(claim, NULL), value) == 0;
	case JSON_ARRAY:
		return has_text(claim, value);
	case JSON_BOOL:
		return strcmp(json_bool(claim) ? "true" : "false", value) == 0;
	case JSON_INT:
		snprintf(text, sizeof(text), "%" PRId64, json_int(claim));
		return strcmp(text, value) == 0;
	default:
		return false;
	}
}

bool oidc_token_has_pair(const struct json *claims, const char *pair)
{
	char name[NAME_MAX_BYTES];
	size_t len = strcspn(pair, "=");
	if (!*pair)
		return true;
	if (len >= sizeof(name) || pair[len] != '=')
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)len, pair);
	return oidc_token_has(claims, name, pair + len + 1);
}

const char *oidc_token_email(const struct json *claims, const struct oidc_provider *provider)
{
	bool is_verified = json_get(claims, "email_verified")
	                           ? oidc_token_has(claims, "email_verified", "true")
	                           : provider->trusts_email;
	return is_verified ? oidc_token_text(claims, "email") : NULL;
}
