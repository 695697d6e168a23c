#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "services/links-api/identity/scope.h"
#include "services/links-api/identity/secret.h"
#include "tests/support/test.h"

TEST_CASE(generates_unique_secrets_that_it_recognizes)
{
	struct secret first, second;
	uint8_t hash[DIGEST_SIZE];
	secret_generate(SECRET_API_KEY, &first);
	secret_generate(SECRET_API_KEY, &second);
	assert_int_equal(strlen(first.text), 46);
	assert_memory_equal(first.text, "wm_", 3);
	assert_string_not_equal(first.text, second.text);
	assert_true(secret_is_well_formed(first.text, SECRET_API_KEY));
	secret_hash(first.text, hash);
	assert_memory_equal(hash, first.hash, DIGEST_SIZE);
	assert_memory_not_equal(first.hash, second.hash, DIGEST_SIZE);
	secret_generate(SECRET_SHARE, &first);
	assert_int_equal(strlen(first.text), SECRET_SIZE - 1);
}

TEST_CASE(recognizes_malformed_secrets)
{
	struct secret key;
	char longer[SECRET_SIZE + 1];
	secret_generate(SECRET_API_KEY, &key);
	snprintf(longer, sizeof(longer), "%sA", key.text);
	assert_false(secret_is_well_formed(longer, SECRET_API_KEY));
	for (size_t i = 0; i < strlen(key.text); i++) {
		char original = key.text[i];
		key.text[i] = '.';
		assert_false(secret_is_well_formed(key.text, SECRET_API_KEY));
		key.text[i] = '\0';
		assert_false(secret_is_well_formed(key.text, SECRET_API_KEY));
		key.text[i] = original;
	}
	assert_true(secret_is_well_formed(key.text, SECRET_API_KEY));
	assert_false(secret_is_well_formed(key.text, SECRET_SESSION));
	assert_false(secret_has_prefix("wmc_x", SECRET_API_KEY));
	assert_false(secret_has_prefix("eyJhbGciOiJIUzI1NiJ9.e30.x", SECRET_API_KEY));
}

TEST_CASE(formats_and_parses_scope_sets)
{
	char list[SCOPE_LIST_SIZE];
	for (unsigned scopes = 0; scopes <= SCOPE_ALL; scopes++) {
		scope_join(scopes, list);
		assert_int_equal(scope_split(list), scopes);
	}
	scope_join(SCOPE_ALL, list);
	assert_string_equal(list, "links:read,links:write,stats:read");
	unsigned scope;
	assert_int_equal(scope_parse("links:read", &scope), OK);
	assert_int_equal(scope, SCOPE_LINKS_READ);
	static const char *const wrong[] = { "",           "links",
		                             "links:rea",  "links:read ",
		                             "LINKS:READ", "links:read,stats:read" };
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(scope_parse(wrong[i], &scope), ERR_INVALID);
}

TEST_MAIN()
