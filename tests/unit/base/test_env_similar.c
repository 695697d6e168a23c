#include "lib/base/array.h"
#include "lib/base/env_similar.h"
#include "tests/support/test.h"

struct config {
	char text[8];
	int64_t number;
};

static const struct env_var vars[] = {
	ENV_GROUP("PostgreSQL"),
	ENV_TEXT("PG_URL", struct config, text, NULL, "where it is"),
	ENV_INT("PG_POOL_SIZE", struct config, number, "4", 1, 9, "connections"),
	ENV_INT("PG_POOL_SIDE", struct config, number, "4", 1, 9, "not what is meant below"),
	ENV_INT("EXPIRED_GRACE_S", struct config, number, "4", 1, 9, "seconds"),
	ENV_TEXT("TRUSTED_PROXIES", struct config, text, "", "networks"),
	ENV_INT("BATCH", struct config, number, "4", 1, 9, "a short name"),
};

static void assert_similar(const char *name, const char *wanted)
{
	const char *found = env_similar(vars, ARRAY_SIZE(vars), name);
	if (!wanted && found)
		fail_msg("%s is taken for %s", name, found);
	if (wanted && !found)
		fail_msg("%s is not taken for %s", name, wanted);
	if (wanted)
		assert_string_equal(found, wanted);
}

TEST_CASE(finds_what_a_misspelt_name_means)
{
	assert_similar("PG_POOLSIZE", "PG_POOL_SIZE");
	assert_similar("pg_pool_size", "PG_POOL_SIZE");
	assert_similar("PG_POL_SIZE", "PG_POOL_SIZE");
	assert_similar("PG_POOOL_SIZE", "PG_POOL_SIZE");
	assert_similar("PG_POOK_SIZE", "PG_POOL_SIZE");
	assert_similar("PG_POLO_SIZE", "PG_POOL_SIZE");
	assert_similar("PG_POOL_SIDES", "PG_POOL_SIDE");
	assert_similar("EXPIRE_GRACE", "EXPIRED_GRACE_S");
	assert_similar("TRUSTED_PROXY", "TRUSTED_PROXIES");
	assert_similar("TRUSTED_PROXYS", "TRUSTED_PROXIES");
	assert_similar("_BATCH_", "BATCH");
}

TEST_CASE(finds_it_for_the_name_of_a_file_too)
{
	assert_similar("PG_POOLSIZE_FILE", "PG_POOL_SIZE");
	assert_similar("PGURL_FILE", "PG_URL");
}

TEST_CASE(knows_right_names)
{
	for (size_t i = 1; i < ARRAY_SIZE(vars); i++)
		assert_similar(vars[i].name, NULL);
	assert_similar("PG_URL_FILE", NULL);
}

TEST_CASE(leaves_other_names_alone)
{
	assert_similar("", NULL);
	assert_similar("_FILE", NULL);
	assert_similar("PATH", NULL);
	assert_similar("PATCH", NULL); /* a short name may not differ */
	assert_similar("PGHOST", NULL);
	assert_similar("PG_POL_SIE", NULL);
	assert_similar("PostgreSQL", NULL);
	assert_similar("POSTGRESQ", NULL); /* near a heading */
	assert_similar("A_NAME_THAT_IS_LONGER_THAN_ANY_VARIABLE_OF_ANY_PROGRAM_AND_GOES_ON_AND_ON",
	               NULL);
}

TEST_MAIN()
