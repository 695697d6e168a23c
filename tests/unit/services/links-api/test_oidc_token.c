#include "services/links-api/identity/oidc_token.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "services/links-api/identity/access_token.h"
#include "services/links-api/identity/oidc_config.h"
#include "services/links-api/identity/oidc_login.h"
#include "tests/support/test.h"
#include "tests/unit/services/links-api/token_forge.h"

/* What hostile providers send is in tests/integration/links-api/test_single_sign_on.py. */

#define NOW_S INT64_C(1795161600)
#define SECRET "0123456789abcdef0123456789abcdef"
#define HEADER "{\"alg\":\"HS256\"}"
#define CLAIMS(more)                                                                               \
	"{\"iss\":\"https://id.example\",\"aud\":\"waymark\",\"sub\":\"s\",\"nonce\":\"n\"" more "}"
#define TIMES ",\"exp\":1795165200,\"iat\":1795161600"

/* Keys and tokens of python3-cryptography, with the claims above. */
static const char ec_key[] =
	"{\"kty\": \"EC\", \"crv\": \"P-256\", \"x\": \"tYmRI-whmavM6_lQ8hxSUE3weyAf0bSX9LeFC"
	"tzV6-U\", \"y\": \"ZXfjXRrRLpmJUtCUWpfYWcov3RFu12-8-4lkVTXdmzc\", \"kid\": \"e\"}";
static const char ec_token[] =
	"eyJhbGciOiAiRVMyNTYiLCAia2lkIjogImUifQ.eyJpc3MiOiAiaHR0cHM6Ly9pZC5leGFtcGxlIiwgImF1Z"
	"CI6ICJ3YXltYXJrIiwgInN1YiI6ICJzIiwgImV4cCI6IDE3OTUxNjUyMDAsICJpYXQiOiAxNzk1MTYxNjAwL"
	"CAibm9uY2UiOiAibiJ9.Jzz2i-BXExXitLZ49uCKMxbIcD5e6Kdq30EsQN5mpxVP2Ip7Vk26P2_jXdDNjkEo"
	"ztcnEWU1MQJrykVyyaeeSw";
static const char rsa_key[] =
	"{\"kty\": \"RSA\", \"n\": \"sfNeD0zjwTMgb1aR7iUeFtC6-vUendUhJ4G9t-CyXBOFO-vSArhsR4xw"
	"281TvcXAO5pRITsczHD7a0XfGuDO8AFTCegZycw3cF0DMNLTjUQXO-htM2K0F_GdHmICkfA71b8uSXgY6Bpn"
	"LwTXhw5VvFIpVpHI7hfz3Z051-PqXquGFXZw13jzFNobOhUwxWX5VZxBAgJ9fstVQPugJJBidQCBsUBMSCGs"
	"b2tLJ_BjAqDymohzHgsqLeMgtyfnHoLHCUs5S29NWacOxebHqGqgURtzrnU_Yf7cGglAu-Bj5vo7AaXjgBOj"
	"TsiAxX3k4EIkGzlnNZl9tze8coSsw25-Zw\", \"e\": \"AQAB\", \"kid\": \"r\", \"use\": \"si"
	"g\"}";
static const char rsa_token[] =
	"eyJhbGciOiAiUlMyNTYiLCAia2lkIjogInIifQ.eyJpc3MiOiAiaHR0cHM6Ly9pZC5leGFtcGxlIiwgImF1Z"
	"CI6ICJ3YXltYXJrIiwgInN1YiI6ICJzIiwgImV4cCI6IDE3OTUxNjUyMDAsICJpYXQiOiAxNzk1MTYxNjAwL"
	"CAibm9uY2UiOiAibiJ9.AFqXjqRRhf68Qc7SHK_LRiUEsQJBrT_U4dcNceD_F4g0hbVOGO_fhdlSC-RBtIt5"
	"rNr58OjXhM8Gqdrv0yQC3eiKDqh4V5Jb9Hr0x3RhQfDozVUBfjjjLYd2uIcIMeEKpzCiWorbCBcQVnYBDbLc"
	"mkB-3m96ZlwbItGw_-QcTBd7jIE4P2x7uH_5ajIvDDuUwoAklUAqSLAv72YziJ1D12R6XKegQiarK9GcHHyV"
	"C_EuQ1ZXeTR5SqK5J6GGgzsqpc5F3-ZLTqNYfyg9UAXYpaTMrt4Ugrer7f0r6L57qQZ7VMw1l0dyMBRBkHL8"
	"JI-G-9ubc_tbstwL3U5GxM_G6A";

static struct json *parse(const char *text)
{
	char reason[JSON_REASON_SIZE];
	struct json *value = NULL;
	assert_int_equal(json_parse(text, strlen(text), &value, reason), OK);
	return value;
}

/* algorithms: an array as text, or NULL. keys: those of the set, as text. */
static enum err verify(const char *algorithms, const char *keys, const char *token, int64_t now_s,
                       const char **reason)
{
	char set[8192];
	struct oidc_provider provider = { .id = "a",
		                          .issuer = "https://id.example",
		                          .client_id = "waymark",
		                          .client_secret = SECRET };
	struct json *list = algorithms ? parse(algorithms) : NULL;
	struct json *claims = NULL;
	snprintf(set, sizeof(set), "{\"keys\":[%s]}", keys);
	struct json *parsed = parse(set);
	provider.algorithms = list;
	struct oidc_token_check check = {
		.provider = &provider, .nonce = "n", .now_s = now_s, .keys = parsed
	};
	enum err err = oidc_token_verify(&check, token, strlen(token), &claims, reason);
	if (err == OK)
		assert_string_equal(oidc_token_text(claims, "sub"), "s");
	json_free(claims);
	json_free(parsed);
	json_free(list);
	return err;
}

static enum err verify_signed(const char *header, const char *claims)
{
	const char *reason;
	char *token = token_forge_sign(header, claims, SECRET);
	enum err err = verify("[\"HS256\"]", "", token, NOW_S, &reason);
	free(token);
	return err;
}

TEST_CASE(accepts_what_the_key_of_the_set_has_signed)
{
	const char *reason;
	assert_int_equal(verify(NULL, ec_key, ec_token, NOW_S, &reason), OK);
	assert_int_equal(verify(NULL, rsa_key, rsa_token, NOW_S, &reason), OK);
	assert_int_equal(verify("[\"RS256\"]", rsa_key, rsa_token, NOW_S, &reason), OK);
	assert_int_equal(verify("[\"ES256\"]", rsa_key, rsa_token, NOW_S, &reason), ERR_INVALID);
	assert_string_equal(reason, "its algorithm is not allowed");
}

TEST_CASE(asks_for_newer_keys_when_none_fits)
{
	const char *reason;
	assert_int_equal(verify(NULL, "", rsa_token, NOW_S, &reason), ERR_NOT_FOUND);
	assert_int_equal(verify(NULL, ec_key, rsa_token, NOW_S, &reason), ERR_NOT_FOUND);
}

TEST_CASE(refuses_a_changed_byte_anywhere)
{
	const char *reason;
	char token[sizeof(ec_token)];
	for (size_t i = 0; i < sizeof(token) - 1; i++) {
		memcpy(token, ec_token, sizeof(token));
		token[i] = token[i] == 'A' ? 'B' : 'A';
		assert_int_not_equal(verify(NULL, ec_key, token, NOW_S, &reason), OK);
	}
}

TEST_CASE(forgives_clocks_two_minutes_and_no_more)
{
	const char *reason;
	assert_int_equal(verify(NULL, ec_key, ec_token, 1795165200 + 119, &reason), OK);
	assert_int_equal(verify(NULL, ec_key, ec_token, 1795165200 + 120, &reason), ERR_INVALID);
	assert_int_equal(verify(NULL, ec_key, ec_token, 1795161600 - 120, &reason), OK);
	assert_int_equal(verify(NULL, ec_key, ec_token, 1795161600 - 121, &reason), ERR_INVALID);
	assert_string_equal(reason, "it was issued in the future; compare the clocks");
}

TEST_CASE(never_takes_the_client_secret_for_a_key_unless_told)
{
	const char *reason;
	char *token = token_forge_sign(HEADER, CLAIMS(TIMES), SECRET);
	assert_int_equal(verify(NULL, "", token, NOW_S, &reason), ERR_INVALID);
	assert_int_equal(verify("[\"HS256\"]", "", token, NOW_S, &reason), OK);
	free(token);
}

TEST_CASE(needs_each_claim)
{
	assert_int_equal(verify_signed(HEADER, CLAIMS(TIMES)), OK);
	assert_int_equal(verify_signed(HEADER, CLAIMS(TIMES ",\"azp\":\"waymark\"")), OK);
	assert_int_equal(verify_signed(HEADER, CLAIMS(TIMES ",\"azp\":\"x\"")), ERR_INVALID);
	assert_int_equal(verify_signed(HEADER, CLAIMS(TIMES ",\"nbf\":1795161721")), ERR_INVALID);
	assert_int_equal(verify_signed(HEADER, CLAIMS(TIMES ",\"nbf\":1795161720")), OK);
	assert_int_equal(verify_signed(HEADER, CLAIMS("")), ERR_INVALID);
	assert_int_equal(verify_signed(HEADER, "{}"), ERR_INVALID);
	assert_int_equal(verify_signed("{\"alg\":\"HS256\",\"crit\":[]}", CLAIMS(TIMES)),
	                 ERR_INVALID);
}

TEST_CASE(finds_claims_by_name_and_by_path)
{
	struct json *claims =
		parse("{\"a.b\":\"x\",\"a\":{\"b\":\"y\",\"c\":{\"d\":[\"p\",\"q\"]}},"
	              "\"n\":7,\"t\":true}");
	assert_string_equal(oidc_token_text(claims, "a.b"), "x");
	assert_null(oidc_token_text(claims, "a.c"));
	assert_null(oidc_token_find(claims, "a.b.c"));
	assert_true(oidc_token_has(claims, "a.c.d", "q"));
	assert_false(oidc_token_has(claims, "a.c.d", "r"));
	assert_true(oidc_token_has_pair(claims, "n=7"));
	assert_true(oidc_token_has_pair(claims, "t=true"));
	assert_true(oidc_token_has_pair(claims, ""));
	assert_false(oidc_token_has_pair(claims, "n="));
	assert_false(oidc_token_has_pair(claims, "x=7"));
	json_free(claims);
}

TEST_CASE(reads_back_only_its_own_login)
{
	struct access_token_secrets old, both;
	struct oidc_login login = { .user_id = 7, .session_id = 9 }, read;
	char cookie[OIDC_LOGIN_COOKIE_SIZE], challenge[OIDC_LOGIN_CHALLENGE_SIZE];
	assert_int_equal(access_token_parse_secrets(SECRET, &old), OK);
	assert_int_equal(access_token_parse_secrets(SECRET "x," SECRET, &both), OK);
	oidc_login_begin(&old, "a", NOW_S, &login, cookie);
	assert_int_equal(oidc_login_read(&both, "a", NOW_S + 599, cookie, &read), OK);
	assert_memory_equal(&read, &login, sizeof(read));
	assert_int_equal(oidc_login_read(&old, "a", NOW_S + 600, cookie, &read), ERR_NOT_FOUND);
	assert_int_equal(oidc_login_read(&old, "b", NOW_S, cookie, &read), ERR_INVALID);
	oidc_login_challenge(&login, challenge);
	assert_int_equal(strlen(challenge), 43);
	for (size_t i = 0; i < strlen(cookie); i++) {
		char saved = cookie[i];
		cookie[i] = saved == '1' ? '2' : '1';
		assert_int_equal(oidc_login_read(&old, "a", NOW_S, cookie, &read), ERR_INVALID);
		cookie[i] = '\0';
		assert_int_equal(oidc_login_read(&old, "a", NOW_S, cookie, &read), ERR_INVALID);
		cookie[i] = saved;
	}
}

TEST_MAIN()
