#include <stdint.h>
#include <string.h>

#include "lib/clicks/salt_store.h"
#include "tests/support/test.h"

static const uint8_t salt[VISITOR_SALT_SIZE] = { 1, 2, 3 };
static const struct client_ip ip = { .bytes = { [10] = 0xff, 0xff, 203, 0, 113, 7 },
	                             .known = true };

static void hash_with(const uint8_t bytes[static VISITOR_SALT_SIZE],
                      const struct client_ip *visitor, const char *agent,
                      uint8_t out[static DIGEST_SIZE])
{
	struct digest_hmac_key ready;
	digest_hmac_key_init(&ready, bytes, VISITOR_SALT_SIZE);
	salt_store_visitor_hash(&ready, visitor, agent, out);
}

static void assert_differ(const uint8_t *a, const uint8_t *b)
{
	assert_true(memcmp(a, b, DIGEST_SIZE) != 0);
}

TEST_CASE(is_the_hmac_of_address_and_user_agent)
{
	/* python3: hmac.new(salt, ip + b"curl/8.0", "sha256").hexdigest() */
	uint8_t hash[DIGEST_SIZE];
	char hex[2 * DIGEST_SIZE + 1];
	hash_with(salt, &ip, "curl/8.0", hash);
	digest_hex(hash, sizeof(hash), hex);
	assert_string_equal(hex,
	                    "a78cc601f7ca79625ea04ab55c92bc23ec363f7bcba2031418a2f849ad8cc697");
}

TEST_CASE(changes_with_salt_address_and_user_agent)
{
	uint8_t one[DIGEST_SIZE], other[DIGEST_SIZE];
	hash_with(salt, &ip, "curl/8.0", one);
	hash_with(salt, &ip, "curl/8.1", other);
	assert_differ(one, other);
	struct client_ip neighbour = ip;
	neighbour.bytes[15]++;
	hash_with(salt, &neighbour, "curl/8.0", other);
	assert_differ(one, other);
	const uint8_t next_salt[VISITOR_SALT_SIZE] = { 9 };
	hash_with(next_salt, &ip, "curl/8.0", other);
	assert_differ(one, other);
}

TEST_CASE(is_the_same_for_the_same_visitor)
{
	uint8_t one[DIGEST_SIZE], other[DIGEST_SIZE];
	hash_with(salt, &ip, "curl/8.0", one);
	hash_with(salt, &ip, "curl/8.0", other);
	assert_memory_equal(one, other, DIGEST_SIZE);
}

TEST_CASE(hashes_only_the_part_of_a_user_agent_that_an_event_carries)
{
	char agent[600];
	memset(agent, 'a', sizeof(agent) - 1);
	agent[sizeof(agent) - 1] = '\0';
	uint8_t one[DIGEST_SIZE], other[DIGEST_SIZE];
	hash_with(salt, &ip, agent, one);
	agent[512] = 'b';
	hash_with(salt, &ip, agent, other);
	assert_memory_equal(one, other, DIGEST_SIZE);
	agent[511] = 'b';
	hash_with(salt, &ip, agent, other);
	assert_differ(one, other);
}

TEST_CASE(address_and_user_agent_may_be_missing)
{
	const struct client_ip unknown = { 0 };
	uint8_t one[DIGEST_SIZE], other[DIGEST_SIZE];
	hash_with(salt, &unknown, NULL, one);
	hash_with(salt, &unknown, "", other);
	assert_memory_equal(one, other, DIGEST_SIZE);
}

TEST_MAIN()
