#include <stdint.h>
#include <string.h>

#include "services/links-api/identity/api_key.h"
#include "services/links-api/identity/scope.h"
#include "tests/support/test.h"

TEST_CASE(generates_unique_secrets_that_it_recognizes)
{
	struct api_key_secret first, second;
	uint8_t hash[DIGEST_SIZE];
	api_key_generate(&first);
	api_key_generate(&second);
	assert_int_equal(strlen(first.text), 46);
	assert_memory_equal(first.text, "wm_", 3);
	assert_memory_equal(first.hint, first.text, 7);
	assert_int_equal(strlen(first.hint), 7);
	assert_string_not_equal(first.text, second.text);
	assert_true(api_key_hash(first.text, hash));
	assert_memory_equal(hash, first.hash, DIGEST_SIZE);
	assert_memory_not_equal(first.hash, second.hash, DIGEST_SIZE);
}

TEST_CASE(rejects_malformed_keys)
{
	struct api_key_secret key;
	uint8_t hash[DIGEST_SIZE];
	char longer[API_KEY_SECRET_SIZE + 1] = "";
	api_key_generate(&key);
	memcpy(longer, key.text, sizeof(key.text) - 1);
	longer[sizeof(key.text) - 1] = 'A';
	assert_false(api_key_hash(longer, hash));
	for (size_t i = 0; i < strlen(key.text); i++) {
		char original = key.text[i];
		key.text[i] = '.';
		assert_false(api_key_hash(key.text, hash));
		key.text[i] = '\0';
		assert_false(api_key_hash(key.text, hash));
		key.text[i] = original;
	}
	assert_true(api_key_hash(key.text, hash));
	assert_true(api_key_has_prefix("wm_"));
	assert_false(api_key_has_prefix("wmc_x"));
	assert_false(api_key_has_prefix("eyJhbGciOiJIUzI1NiJ9.e30.x"));
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
