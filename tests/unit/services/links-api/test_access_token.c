#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "services/links-api/identity/access_token.h"
#include "tests/support/test.h"
#include "tests/unit/services/links-api/token_forge.h"

#define SECRET "0123456789abcdef0123456789abcdef"
#define NOW_S INT64_C(1795161600) /* 2026-11-20T08:00:00Z */
#define NOW_US (NOW_S * CLOCK_US_PER_S)
#define TOKEN_MAX 8192

#define HEADER "{\"alg\":\"HS256\",\"typ\":\"JWT\"}"
#define JTI "\"jti\":\"00000000-0000-4000-8000-000000000000\""
#define SUB "\"sub\":\"42\""
#define IAT "\"iat\":1795161600"
#define EXP "\"exp\":1795165200"
#define CLAIMS "{" SUB "," IAT "," EXP "," JTI "}"

static void sign(const char *header, const char *claims, const char *secret,
                 char out[static TOKEN_MAX])
{
	char *token = token_forge_sign(header, claims, secret);
	snprintf(out, TOKEN_MAX, "%s", token);
	free(token);
}

static enum err verify(const char *token)
{
	struct access_token_claims claims;
	return access_token_verify(SECRET, token, NOW_US, &claims);
}

TEST_CASE(accepts_its_own_tokens_and_returns_their_claims)
{
	char token[ACCESS_TOKEN_SIZE];
	struct access_token_claims claims;
	assert_int_equal(access_token_issue(SECRET, INT64_MAX, 0, NOW_US, token), OK);
	assert_int_equal(access_token_verify(SECRET, token, NOW_US, &claims), OK);
	assert_int_equal(claims.user_id, INT64_MAX);
	assert_int_equal(claims.issued_at_s, NOW_S);
	assert_int_equal(claims.expires_at_s, NOW_S + ACCESS_TOKEN_LIFETIME_S);
	assert_int_equal(strlen(claims.id), 36);
}

TEST_CASE(keeps_the_generation_and_treats_a_missing_one_as_0)
{
	char token[ACCESS_TOKEN_SIZE];
	struct access_token_claims claims = { .generation = 7 };
	assert_int_equal(access_token_issue(SECRET, 1, 0, NOW_US, token), OK);
	assert_int_equal(access_token_verify(SECRET, token, NOW_US, &claims), OK);
	assert_int_equal(claims.generation, 0);
	assert_int_equal(access_token_issue(SECRET, 1, INT64_MAX, NOW_US, token), OK);
	assert_int_equal(access_token_verify(SECRET, token, NOW_US, &claims), OK);
	assert_int_equal(claims.generation, INT64_MAX);
}

TEST_CASE(the_token_of_a_share_is_none_of_a_user_and_ends)
{
	char token[ACCESS_TOKEN_SIZE];
	struct access_token_claims claims;
	uint8_t hash[DIGEST_SIZE], read[DIGEST_SIZE];
	int64_t generation;
	const int64_t end_us = NOW_US + ACCESS_TOKEN_SHARE_LIFETIME_S * INT64_C(1000000);
	digest_sha256("share", 5, hash);
	assert_int_equal(access_token_issue_for_share(SECRET, hash, 3, NOW_US, token), OK);
	assert_int_equal(access_token_verify_for_share(SECRET, token, NOW_US, read, &generation),
	                 OK);
	assert_memory_equal(read, hash, DIGEST_SIZE);
	assert_int_equal(generation, 3);
	assert_int_equal(access_token_verify_for_share(SECRET, token, end_us, read, &generation),
	                 ERR_LIMIT);
	assert_int_equal(access_token_verify(SECRET, token, NOW_US, &claims), ERR_INVALID);
	assert_int_equal(access_token_issue(SECRET, 7, 0, NOW_US, token), OK);
	assert_int_equal(access_token_verify_for_share(SECRET, token, NOW_US, read, &generation),
	                 ERR_INVALID);
}

TEST_CASE(gives_each_token_a_unique_id)
{
	char token[ACCESS_TOKEN_SIZE];
	struct access_token_claims first, second;
	assert_int_equal(access_token_issue(SECRET, 1, 0, NOW_US, token), OK);
	assert_int_equal(access_token_verify(SECRET, token, NOW_US, &first), OK);
	assert_int_equal(access_token_issue(SECRET, 1, 0, NOW_US, token), OK);
	assert_int_equal(access_token_verify(SECRET, token, NOW_US, &second), OK);
	assert_string_not_equal(first.id, second.id);
}

TEST_CASE(accepts_a_token_until_it_expires)
{
	char token[ACCESS_TOKEN_SIZE];
	struct access_token_claims claims;
	const int64_t end_us = (NOW_S + ACCESS_TOKEN_LIFETIME_S) * CLOCK_US_PER_S;
	assert_int_equal(access_token_issue(SECRET, 1, 0, NOW_US, token), OK);
	assert_int_equal(access_token_verify(SECRET, token, end_us - 1, &claims), OK);
	assert_int_equal(access_token_verify(SECRET, token, end_us, &claims), ERR_LIMIT);
}

TEST_CASE(the_template_of_the_hostile_tokens_is_valid)
{
	char token[TOKEN_MAX];
	sign(HEADER, CLAIMS, SECRET, token);
	assert_int_equal(verify(token), OK);
}

TEST_CASE(accepts_a_clock_skew_of_60_seconds)
{
	char token[TOKEN_MAX];
	sign(HEADER, "{" SUB ",\"iat\":1795161660," EXP "," JTI "}", SECRET, token);
	assert_int_equal(verify(token), OK);
	sign(HEADER, "{" SUB ",\"iat\":1795161661," EXP "," JTI "}", SECRET, token);
	assert_int_equal(verify(token), ERR_INVALID);
}

TEST_CASE(refuses_signed_tokens_that_the_service_never_issues)
{
	static const struct {
		const char *header, *claims;
	} hostile[] = {
		/* algorithms */
		{ "{\"alg\":\"none\"}", CLAIMS },
		{ "{\"alg\":\"None\",\"typ\":\"JWT\"}", CLAIMS },
		{ "{\"alg\":\"HS384\",\"typ\":\"JWT\"}", CLAIMS },
		{ "{\"alg\":\"HS512\",\"typ\":\"JWT\"}", CLAIMS },
		{ "{\"alg\":\"RS256\",\"typ\":\"JWT\"}", CLAIMS },
		{ "{\"alg\":\"ES256\",\"typ\":\"JWT\"}", CLAIMS },
		{ "{\"alg\":\"PS256\",\"typ\":\"JWT\"}", CLAIMS },
		{ "{\"alg\":\"hs256\",\"typ\":\"JWT\"}", CLAIMS },
		{ "{\"alg\":256,\"typ\":\"JWT\"}", CLAIMS },
		{ "{\"alg\":null,\"typ\":\"JWT\"}", CLAIMS },
		{ "{\"typ\":\"JWT\"}", CLAIMS },
		/* headers */
		{ "{\"alg\":\"HS256\",\"typ\":\"JWE\"}", CLAIMS },
		{ "{\"alg\":\"HS256\",\"typ\":\"JWT\",\"crit\":[\"exp\"]}", CLAIMS },
		{ "{\"alg\":\"HS256\",\"typ\":\"JWT\",\"b64\":false}", CLAIMS },
		{ "[]", CLAIMS },
		{ "\"HS256\"", CLAIMS },
		{ "{", CLAIMS },
		/* claims as a whole */
		{ HEADER, "{}" },
		{ HEADER, "[]" },
		{ HEADER, "null" },
		{ HEADER, "42" },
		{ HEADER, "{" SUB },
		{ HEADER, CLAIMS "x" },
		/* exp */
		{ HEADER, "{" SUB "," IAT "," JTI "}" },
		{ HEADER, "{" SUB "," IAT ",\"exp\":null," JTI "}" },
		{ HEADER, "{" SUB "," IAT ",\"exp\":\"1795165200\"," JTI "}" },
		{ HEADER, "{" SUB "," IAT ",\"exp\":1795165200.5," JTI "}" },
		{ HEADER, "{" SUB "," IAT ",\"exp\":true," JTI "}" },
		{ HEADER, "{" SUB "," IAT ",\"exp\":[1795165200]," JTI "}" },
		{ HEADER, "{" SUB "," IAT ",\"exp\":1795161600," JTI "}" },
		{ HEADER, "{" SUB "," IAT ",\"exp\":1795161599," JTI "}" },
		{ HEADER, "{" SUB "," IAT ",\"exp\":0," JTI "}" },
		{ HEADER, "{" SUB "," IAT ",\"exp\":-1," JTI "}" },
		{ HEADER, "{" SUB "," IAT ",\"exp\":1795248001," JTI "}" },
		{ HEADER, "{" SUB "," IAT ",\"exp\":9223372036854775807," JTI "}" },
		{ HEADER, "{" SUB "," IAT ",\"exp\":9223372036854775808," JTI "}" },
		/* iat, nbf */
		{ HEADER, "{" SUB "," EXP "," JTI "}" },
		{ HEADER, "{" SUB ",\"iat\":\"1795161600\"," EXP "," JTI "}" },
		{ HEADER, "{" SUB ",\"iat\":0," EXP "," JTI "}" },
		{ HEADER, "{" SUB ",\"iat\":-9223372036854775808," EXP "," JTI "}" },
		{ HEADER, "{" SUB ",\"iat\":1795165201," EXP "," JTI "}" },
		{ HEADER, "{" SUB "," IAT "," EXP "," JTI ",\"nbf\":1795161601}" },
		{ HEADER, "{" SUB "," IAT "," EXP "," JTI ",\"nbf\":\"x\"}" },
		/* sub */
		{ HEADER, "{" IAT "," EXP "," JTI "}" },
		{ HEADER, "{\"sub\":42," IAT "," EXP "," JTI "}" },
		{ HEADER, "{\"sub\":\"\"," IAT "," EXP "," JTI "}" },
		{ HEADER, "{\"sub\":\"0\"," IAT "," EXP "," JTI "}" },
		{ HEADER, "{\"sub\":\"-1\"," IAT "," EXP "," JTI "}" },
		{ HEADER, "{\"sub\":\"042\"," IAT "," EXP "," JTI "}" },
		{ HEADER, "{\"sub\":\"42 \"," IAT "," EXP "," JTI "}" },
		{ HEADER, "{\"sub\":\"4e1\"," IAT "," EXP "," JTI "}" },
		{ HEADER, "{\"sub\":\"9223372036854775808\"," IAT "," EXP "," JTI "}" },
		/* jti */
		{ HEADER, "{" SUB "," IAT "," EXP "}" },
		{ HEADER, "{" SUB "," IAT "," EXP ",\"jti\":\"\"}" },
		{ HEADER, "{" SUB "," IAT "," EXP ",\"jti\":7}" },
	};
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		char token[TOKEN_MAX];
		sign(hostile[i].header, hostile[i].claims, SECRET, token);
		if (verify(token) != ERR_INVALID)
			fail_msg("accepted: %s . %s", hostile[i].header, hostile[i].claims);
	}
}

/* Signed with our secret by another implementation. */
TEST_CASE(refuses_other_algorithms_with_a_correct_signature)
{
	assert_int_equal(
		verify("eyJhbGciOiJIUzM4NCIsInR5cCI6IkpXVCJ9.eyJzdWIiOiI0MiIsImlhdCI6MTc5NTE2MTYwMCwiZXhwIjoxNzk1MTY1MjAw"
	               "LCJqdGkiOiIwMDAwMDAwMC0wMDAwLTQwMDAtODAwMC0wMDAwMDAwMDAwMDAifQ."
	               "5FSeY9cHbosuksIjx7RmSGq33xk7UIzGPWB9BG99FveBxAHh_iLlSxfnK-E4z50e"),
		ERR_INVALID);
	assert_int_equal(
		verify("eyJhbGciOiJIUzUxMiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiI0MiIsImlhdCI6MTc5NTE2MTYwMCwiZXhwIjoxNzk1MTY1MjAw"
	               "LCJqdGkiOiIwMDAwMDAwMC0wMDAwLTQwMDAtODAwMC0wMDAwMDAwMDAwMDAifQ."
	               "pY-Tj3as9NVQuGf8qWlOsKRswzSUbnxvNK9BQG0D2p7xTTssIXso8hoP9gxQnyF-IQ6Qpf7djwHBoSP4fTUlgA"),
		ERR_INVALID);
}

TEST_CASE(refuses_unsigned_tokens)
{
	char token[TOKEN_MAX] = "";
	token_forge_base64url("{\"alg\":\"none\"}", strlen("{\"alg\":\"none\"}"), token);
	memcpy(token + strlen(token), ".", 2);
	token_forge_base64url(CLAIMS, strlen(CLAIMS), token + strlen(token));
	assert_int_equal(verify(token), ERR_INVALID);
	memcpy(token + strlen(token), ".", 2);
	assert_int_equal(verify(token), ERR_INVALID);
	memcpy(token + strlen(token), "AA", 3);
	assert_int_equal(verify(token), ERR_INVALID);
}

TEST_CASE(refuses_other_secrets)
{
	static const char *const secrets[] = {
		"", "0123456789abcdef", "0123456789abcdef0123456789abcdeF", SECRET "x", "x" SECRET,
	};
	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
		char token[TOKEN_MAX];
		sign(HEADER, CLAIMS, secrets[i], token);
		assert_int_equal(verify(token), ERR_INVALID);
	}
}

TEST_CASE(refuses_every_changed_character)
{
	char token[TOKEN_MAX];
	sign(HEADER, CLAIMS, SECRET, token);
	const size_t len = strlen(token);
	static const char others[] = "A-_./+= \n\t\"\\\x7f\xff";
	for (size_t i = 0; i < len; i++) {
		const char original = token[i];
		for (size_t j = 0; j < sizeof(others);
		     j++) { /* including the NUL, which truncates */
			token[i] = others[j];
			if (others[j] != original && verify(token) != ERR_INVALID)
				fail_msg("accepted with byte %zu as 0x%02x", i,
				         (unsigned char)others[j]);
		}
		token[i] = (char)(original ^ 1);
		assert_int_equal(verify(token), ERR_INVALID);
		token[i] = original;
	}
	assert_int_equal(verify(token), OK);
}

TEST_CASE(refuses_non_canonical_forms)
{
	char good[TOKEN_MAX];
	sign(HEADER, CLAIMS, SECRET, good);
	static const char *const patterns[] = {
		"%s.", ".%s",  "%s.AAAA", "%s=",       "%s==", " %s",
		"%s ", "%s\n", "\"%s\"",  "Bearer %s", "%sA",  "%s,%s",
	};
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		char token[TOKEN_MAX] = "";
		for (const char *c = patterns[i]; *c; c++) {
			bool is_placeholder = c[0] == '%' && c[1] == 's';
			memcpy(token + strlen(token), is_placeholder ? good : c,
			       is_placeholder ? strlen(good) + 1 : 1);
			c += is_placeholder;
		}
		if (verify(token) != ERR_INVALID)
			fail_msg("accepted: %s", patterns[i]);
	}
	static const char *const plain[] = { "",           ".",     "..",
		                             "...",        "a.b.c", "AAAA.AAAA.AAAA",
		                             "AAAA..AAAA", "ey" };
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		assert_int_equal(verify(plain[i]), ERR_INVALID);
}

TEST_CASE(refuses_unused_bits_at_the_end_of_the_signature)
{
	char token[TOKEN_MAX];
	sign(HEADER, CLAIMS, SECRET, token);
	char *last = &token[strlen(token) - 1];
	/*
	 * 32 bytes end in a character with 4 significant bits: its neighbours decode to the same
	 * bytes.
	 */
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	size_t at = (size_t)(strchr(alphabet, *last) - alphabet);
	for (size_t i = at + 1; i < at + 4; i++) {
		*last = alphabet[i];
		assert_int_equal(verify(token), ERR_INVALID);
	}
}

TEST_CASE(refuses_overlong_tokens_without_decoding_them)
{
	const size_t sizes[] = { ACCESS_TOKEN_BYTES_MAX + 1, 65536, 9 * 1000 * 1000 };
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *token = mem_zero(sizes[i] + 1);
		memset(token, 'A', sizes[i]);
		token[sizes[i] / 3] = token[sizes[i] / 2] = '.';
		assert_int_equal(verify(token), ERR_INVALID);
		free(token);
	}
	/* A correct signature does not make a long token acceptable. */
	char claims[TOKEN_MAX / 2] = "{" SUB "," IAT "," EXP "," JTI ",\"x\":\"";
	memset(claims + strlen(claims), 'x', 3100);
	memcpy(claims + strlen(claims), "\"}", 3);
	char token[TOKEN_MAX];
	sign(HEADER, claims, SECRET, token);
	assert_true(strlen(token) > ACCESS_TOKEN_BYTES_MAX);
	assert_int_equal(verify(token), ERR_INVALID);
}

TEST_CASE(refuses_a_secret_that_is_too_short)
{
	char token[ACCESS_TOKEN_SIZE];
	struct access_token_claims claims;
	assert_int_equal(access_token_issue("short", 1, 0, NOW_US, token), ERR_INTERNAL);
	assert_int_equal(access_token_issue(SECRET, 1, 0, NOW_US, token), OK);
	assert_int_equal(access_token_verify(NULL, token, NOW_US, &claims), ERR_INTERNAL);
	assert_int_equal(access_token_verify("", token, NOW_US, &claims), ERR_INTERNAL);
}

TEST_MAIN()
