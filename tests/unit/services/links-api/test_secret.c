#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "services/links-api/identity/api_key.h"
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

TEST_CASE(writes_scopes_in_their_order)
{
	char list[SCOPE_LIST_SIZE];
	api_key_join_scopes(SCOPE_ALL, list);
	assert_string_equal(
		list,
		"links:read,links:write,stats:read,visits:read,shares:read,shares:write,keys:read,keys:write,"
		"workspace:read,workspace:write,admin:read,admin:write");
	api_key_join_scopes(SCOPE_STATS_READ | SCOPE_LINKS_READ, list);
	assert_string_equal(list, "links:read,stats:read");
	api_key_join_scopes(0, list);
	assert_string_equal(list, "");
}

TEST_MAIN()
