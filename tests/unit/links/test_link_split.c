#include <math.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/digest.h"
#include "lib/links/link_decision.h"
#include "tests/support/test.h"
#include "tests/unit/links/extras_fixture.h"

#define ORIGINAL "https://example.com/"
#define LINK_ID 42

static struct link_visitor visitor;
static struct link_decision decision;

static void decide(void)
{
	link_decision_take(&extras, LINK_ID, ORIGINAL, &visitor, &decision);
}

static uint8_t hash[LINK_VISITOR_HASH_SIZE];

/* The variant of the n-th of different visitors. */
static const char *variant_of(uint32_t n)
{
	digest_sha256(&n, sizeof(n), hash);
	visitor.visitor_hash = hash;
	decide();
	return decision.variant;
}

static void split(const uint32_t *weights, size_t count)
{
	static const char *const names[] = { "a", "b", "c", "d", "e" };
	static const char *const urls[] = { "https://a/", "https://b/", "https://c/", "https://d/",
		                            "https://e/" };
	extras_begin();
	visitor = (struct link_visitor){ .now_us = 1 };
	for (size_t i = 0; i < count; i++)
		variant(names[i], urls[i], weights[i]);
}
#define SPLIT(...)                                                                                 \
	split((const uint32_t[]){ __VA_ARGS__ }, ARRAY_SIZE(((const uint32_t[]){ __VA_ARGS__ })))

TEST_CASE(a_split_gives_each_variant_its_share)
{
	enum { VISITORS = 40000 };
	SPLIT(1, 2, 5, 1, 1);
	double count[5] = { 0 };
	for (uint32_t n = 0; n < VISITORS; n++)
		count[variant_of(n)[0] - 'a']++;
	const double share[] = { 0.1, 0.2, 0.5, 0.1, 0.1 };
	for (size_t i = 0; i < ARRAY_SIZE(share); i++) {
		double sigma = sqrt(VISITORS * share[i] * (1 - share[i]));
		assert_true(fabs(count[i] - VISITORS * share[i]) < 5 * sigma);
	}
}

TEST_CASE(a_changed_weight_moves_as_few_visitors_as_can_be)
{
	enum { VISITORS = 10000 };
	static char before[VISITORS];
	SPLIT(1, 1, 2);
	for (uint32_t n = 0; n < VISITORS; n++)
		before[n] = variant_of(n)[0];
	SPLIT(1, 1, 4);
	double moved = 0;
	for (uint32_t n = 0; n < VISITORS; n++) {
		char after = variant_of(n)[0];
		/* Only to the one that grew. */
		assert_true(after == before[n] || after == 'c');
		moved += after != before[n];
	}
	/* Its share grows from 1/2 to 2/3. */
	assert_true(fabs(moved / VISITORS - 1.0 / 6) < 0.02);
}

TEST_CASE(a_variant_that_is_removed_moves_only_its_own_visitors)
{
	SPLIT(3, 2, 1);
	static char before[5000];
	for (uint32_t n = 0; n < sizeof(before); n++)
		before[n] = variant_of(n)[0];
	SPLIT(3, 2);
	for (uint32_t n = 0; n < sizeof(before); n++)
		assert_true(variant_of(n)[0] == before[n] || before[n] == 'c');
}

TEST_CASE(other_links_split_their_visitors_otherwise)
{
	SPLIT(1, 1);
	int same = 0;
	for (uint32_t n = 0; n < 1000; n++) {
		const char *here = variant_of(n);
		link_decision_take(&extras, LINK_ID + 1, ORIGINAL, &visitor, &decision);
		same += strcmp(here, decision.variant) == 0;
	}
	assert_in_range(same, 400, 600);
}

TEST_CASE(a_visitor_without_a_hash_goes_where_the_random_number_says)
{
	SPLIT(1, 1);
	int a = 0;
	for (uint64_t n = 0; n < 1000; n++) {
		visitor.random = n << 32 | n;
		decide();
		a += decision.variant[0] == 'a';
	}
	assert_in_range(a, 400, 600);
}

TEST_CASE(a_winner_gets_everybody)
{
	SPLIT(1000, 1);
	extras.winner = (char *)"b";
	for (uint32_t n = 0; n < 100; n++)
		assert_string_equal(variant_of(n), "b");
	assert_string_equal(decision.url, "https://b/");
}

TEST_MAIN()
