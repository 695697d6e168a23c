#include <stdint.h>
#include <string.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/password.h"
#include "tests/support/test.h"

#define COST 5 /* above the least, so that a cost that is not used shows */

TEST_CASE(hashes_with_bcrypt_of_that_cost_and_a_random_salt)
{
	char first[PASSWORD_HASH_SIZE];
	char second[PASSWORD_HASH_SIZE];
	assert_int_equal(password_hash("correct horse", COST, first), OK);
	assert_int_equal(password_hash("correct horse", COST, second), OK);
	assert_memory_equal(first, "$2b$05$", 7);
	assert_int_equal(strlen(first), 60);
	assert_string_not_equal(first, second);
	assert_true(password_matches("correct horse", first, COST));
	assert_false(password_matches("correct horsf", first, COST));
}

TEST_CASE(distinguishes_the_72nd_byte)
{
	static const char hash[] = "$2b$04$abcdefghijklmnopqrstuuBzzIgyKkz7xMWYSzkIjUSnxEQFQ0WNe";
	char password[PASSWORD_SIZE];
	memset(password, 'a', PASSWORD_BYTES_MAX);
	password[PASSWORD_BYTES_MAX] = '\0';
	assert_true(password_matches(password, hash, COST));
	password[PASSWORD_BYTES_MAX - 1] = 'b';
	assert_false(password_matches(password, hash, COST));
}

/* The published test vectors of bcrypt's authors. */
TEST_CASE(accepts_hashes_of_other_implementations)
{
	assert_true(password_matches(
		"U*U*U", "$2b$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a", COST));
	assert_false(password_matches(
		"U*U*", "$2b$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a", COST));
}

/* Of this thread, which a busy machine does not change. */
static int64_t cpu_us(void)
{
	struct timespec t;
	assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t), 0);
	return t.tv_sec * CLOCK_US_PER_S + t.tv_nsec / 1000;
}

static int64_t cost_us(const char *hash)
{
	int64_t begin_us = cpu_us();
	assert_false(password_matches("not the password", hash, COST));
	return cpu_us() - begin_us;
}

TEST_CASE(works_as_hard_for_an_unknown_user)
{
	char hash[PASSWORD_HASH_SIZE];
	assert_int_equal(password_hash("correct horse", COST, hash), OK);
	int64_t known_us = cost_us(hash);
	int64_t unknown_us = cost_us(NULL);
	/* CPU time. Skipping the hash would be a factor of a thousand. */
	assert_true(unknown_us > known_us / 4 && unknown_us < known_us * 4);
}

TEST_CASE(no_password_matches_a_missing_or_malformed_hash)
{
	assert_false(password_matches("", NULL, COST));
	assert_false(password_matches("x", "", COST));
	assert_false(password_matches("x", "*0", COST));
	assert_false(password_matches("x", "$2b$12$", COST));
	assert_false(password_matches("x", "x", COST));
}

TEST_MAIN()
