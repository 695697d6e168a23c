/*
 * Untrusted access tokens. The first byte chooses what the rest is: a whole token, or the claims or
 * the header of a correctly signed token, so that the code after the signature check is tested too.
 * Accepted claims must be ones that we could have issued. A whole token is accepted only if it is
 * the one that we issued.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "services/links-api/identity/access_token.h"
#include "tests/unit/services/links-api/token_forge.h"

#define SECRET "0123456789abcdef0123456789abcdef"
#define NOW_S INT64_C(1795161600) /* 2026-11-20T08:00:00Z */
#define HEADER "{\"alg\":\"HS256\",\"typ\":\"JWT\"}"
#define CLAIMS                                                                                     \
	"{\"sub\":\"42\",\"iat\":1795161600,\"exp\":1795165200,\"jti\":\"00000000-0000-4000-8000-000000000000\"}"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static bool accepts(const char *token)
{
	struct access_token_claims claims = { 0 };
	if (access_token_verify(SECRET, token, NOW_S * CLOCK_US_PER_S, &claims) != OK)
		return false;
	require(strlen(token) <= ACCESS_TOKEN_BYTES_MAX);
	require(claims.user_id > 0 && strlen(claims.id) == sizeof(claims.id) - 1);
	require(claims.issued_at_s > 0 && claims.issued_at_s <= NOW_S + ACCESS_TOKEN_SKEW_S);
	require(claims.expires_at_s > NOW_S &&
	        claims.expires_at_s - claims.issued_at_s <= ACCESS_TOKEN_LIFETIME_S);
	return true;
}

static void try_token(const char *token)
{
	char *issued = token_forge_sign(HEADER, CLAIMS, SECRET);
	require(accepts(issued));
	require(!accepts(token) || strcmp(token, issued) == 0);
	free(issued);
}

static void try_signed(const char *header, const char *claims)
{
	char *token = token_forge_sign(header, claims, SECRET);
	(void)accepts(token);
	free(token);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	char *text = mem_text_n((const char *)data + 1, size - 1);
	switch (data[0]) {
	case 'c':
		try_signed(HEADER, text);
		break;
	case 'h':
		try_signed(text, CLAIMS);
		break;
	default:
		try_token(text);
	}
	free(text);
	return 0;
}
