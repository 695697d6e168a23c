/*
 * What a provider of single sign-on sends, and the file that configures it. The first byte chooses what
 * the rest is: the header or the claims of a correctly signed token, a key set for a good token, a whole
 * token, or OIDC_CONFIG. A token that is accepted has what each must have.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/links-api/identity/oidc_config.h"
#include "services/links-api/identity/oidc_token.h"
#include "tests/unit/services/links-api/token_forge.h"

#define SECRET "0123456789abcdef0123456789abcdef"
#define NOW_S INT64_C(1795161600)
#define HEADER "{\"alg\":\"HS256\"}"
#define CLAIMS                                                                                     \
	"{\"iss\":\"https://id.example\",\"aud\":\"waymark\",\"sub\":\"s\",\"nonce\":\"n\",\"exp\":1795165200,\"iat\":1795161600}"
#define PROBLEMS_MAX 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char rsa_token[] =
	"eyJhbGciOiAiUlMyNTYiLCAia2lkIjogInIifQ.eyJpc3MiOiAiaHR0cHM6Ly9pZC5leGFtcGxlIiwgImF1Z"
	"CI6ICJ3YXltYXJrIiwgInN1YiI6ICJzIiwgImV4cCI6IDE3OTUxNjUyMDAsICJpYXQiOiAxNzk1MTYxNjAwL"
	"CAibm9uY2UiOiAibiJ9.AFqXjqRRhf68Qc7SHK_LRiUEsQJBrT_U4dcNceD_F4g0hbVOGO_fhdlSC-RBtIt5"
	"rNr58OjXhM8Gqdrv0yQC3eiKDqh4V5Jb9Hr0x3RhQfDozVUBfjjjLYd2uIcIMeEKpzCiWorbCBcQVnYBDbLc"
	"mkB-3m96ZlwbItGw_-QcTBd7jIE4P2x7uH_5ajIvDDuUwoAklUAqSLAv72YziJ1D12R6XKegQiarK9GcHHyV"
	"C_EuQ1ZXeTR5SqK5J6GGgzsqpc5F3-ZLTqNYfyg9UAXYpaTMrt4Ugrer7f0r6L57qQZ7VMw1l0dyMBRBkHL8"
	"JI-G-9ubc_tbstwL3U5GxM_G6A";

static void require(bool holds)
{
	if (!holds)
		abort();
}

static struct json *parse(const char *text)
{
	char reason[JSON_REASON_SIZE];
	struct json *value = NULL;
	return json_parse(text, strlen(text), &value, reason) == OK ? value : NULL;
}

/* keys: a key set, or NULL: the provider signs with the client secret. */
static void verify(const struct json *keys, const char *token)
{
	struct json *algorithms = keys ? NULL : parse("[\"HS256\"]");
	const struct oidc_provider provider = { .id = "a",
		                                .issuer = "https://id.example",
		                                .client_id = "waymark",
		                                .client_secret = SECRET,
		                                .required_claim = "",
		                                .algorithms = algorithms };
	struct json *empty = parse("{}");
	const struct oidc_token_check check = {
		.provider = &provider, .nonce = "n", .now_s = NOW_S, .keys = keys ? keys : empty
	};
	struct json *claims = NULL;
	const char *reason = NULL;
	enum err err = oidc_token_verify(&check, token, strlen(token), &claims, &reason);
	if (err == OK) {
		const char *subject = oidc_token_text(claims, "sub");
		require(oidc_token_has(claims, "iss", provider.issuer) &&
		        oidc_token_has(claims, "aud", "waymark") &&
		        oidc_token_has(claims, "nonce", "n"));
		require(subject && *subject && strlen(subject) <= OIDC_TOKEN_SUBJECT_MAX);
		(void)oidc_token_email(claims, &provider);
		(void)oidc_token_has_pair(claims, "realm_access.roles=x");
	} else {
		require(reason != NULL);
	}
	json_free(claims);
	json_free(empty);
	json_free(algorithms);
}

static void try_signed(const char *header, const char *claims)
{
	char *token = token_forge_sign(header, claims, SECRET);
	verify(NULL, token);
	free(token);
}

static void try_keys(const char *text)
{
	struct json *keys = parse(text);
	if (keys)
		verify(keys, rsa_token);
	json_free(keys);
}

/* client_secret_file would read files of this machine. */
static void try_config(const char *text)
{
	struct oidc_config config;
	struct strbuf problems;
	if (strstr(text, "_file") || strchr(text, '\\'))
		return;
	strbuf_init(&problems, PROBLEMS_MAX);
	if (oidc_config_parse(text, strlen(text), "", &config, &problems) == OK) {
		for (size_t i = 0; i < config.count; i++)
			require(oidc_config_is_url(config.providers[i].issuer));
		oidc_config_clear(&config);
	} else {
		require(problems.len > 0);
	}
	strbuf_clear(&problems);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	char *text = mem_text_n((const char *)data + 1, size - 1);
	switch (data[0]) {
	case 'h':
		try_signed(text, CLAIMS);
		break;
	case 'c':
		try_signed(HEADER, text);
		break;
	case 'k':
		try_keys(text);
		break;
	case 'f':
		try_config(text);
		break;
	default:
		verify(NULL, text);
	}
	free(text);
	return 0;
}
