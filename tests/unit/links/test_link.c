#include <stdint.h>

#include "lib/base/array.h"
#include "lib/links/link.h"
#include "tests/support/test.h"

TEST_CASE(is_expired_from_the_exact_microsecond_of_its_expiry)
{
	struct link_entry entry = { .state = LINK_STATE_ACTIVE, .expires_at_us = 1000 };
	assert_int_equal(link_state_at(&entry, 999), LINK_STATE_ACTIVE);
	assert_int_equal(link_state_at(&entry, 1000), LINK_STATE_EXPIRED);
	assert_int_equal(link_state_at(&entry, 1001), LINK_STATE_EXPIRED);
}

TEST_CASE(never_expires_without_an_expiry_time)
{
	struct link_entry entry = { .state = LINK_STATE_ACTIVE, .expires_at_us = 0 };
	assert_int_equal(link_state_at(&entry, INT64_MAX), LINK_STATE_ACTIVE);
}

TEST_CASE(is_scheduled_until_the_exact_microsecond_of_its_start)
{
	struct link_entry entry = { .state = LINK_STATE_ACTIVE, .starts_at_us = 1000 };
	assert_int_equal(link_state_at(&entry, 0), LINK_STATE_SCHEDULED);
	assert_int_equal(link_state_at(&entry, 999), LINK_STATE_SCHEDULED);
	assert_int_equal(link_state_at(&entry, 1000), LINK_STATE_ACTIVE);
	assert_int_equal(link_state_at(&entry, INT64_MAX), LINK_STATE_ACTIVE);
	entry.expires_at_us = 2000;
	assert_int_equal(link_state_at(&entry, 999), LINK_STATE_SCHEDULED);
	assert_int_equal(link_state_at(&entry, 1999), LINK_STATE_ACTIVE);
	assert_int_equal(link_state_at(&entry, 2000), LINK_STATE_EXPIRED);
}

TEST_CASE(is_expired_if_it_ends_before_its_start)
{
	struct link_entry entry = { .state = LINK_STATE_ACTIVE,
		                    .starts_at_us = 2000,
		                    .expires_at_us = 1000 };
	assert_int_equal(link_state_at(&entry, 1500), LINK_STATE_EXPIRED);
}

TEST_CASE(other_stored_states_do_not_depend_on_the_time)
{
	const enum link_state states[] = { LINK_STATE_DISABLED, LINK_STATE_EXPIRED,
		                           LINK_STATE_DELETED };
	for (size_t i = 0; i < 3; i++) {
		struct link_entry entry = { .state = states[i],
			                    .starts_at_us = 500,
			                    .expires_at_us = 1000 };
		assert_int_equal(link_state_at(&entry, 0), states[i]);
		assert_int_equal(link_state_at(&entry, 2000), states[i]);
	}
}

TEST_CASE(answers_to_a_chosen_slug_in_either_case_and_to_others_only_as_they_are)
{
	char key[SLUG_KEY_SIZE];
	struct link_entry entry = { .slug = "Spring", .is_slug_chosen = true };
	assert_true(link_answers_to(&entry, "Spring"));
	assert_true(link_answers_to(&entry, "SPRING"));
	assert_false(link_answers_to(&entry, "springs"));
	assert_int_equal(link_key(&entry, key), 6);
	assert_string_equal(key, "spring");
	entry.is_slug_exact = true;
	assert_true(link_answers_to(&entry, "Spring"));
	assert_false(link_answers_to(&entry, "SPRING"));
	assert_int_equal(link_key(&entry, key), 7);
	assert_string_equal(key, "=Spring");
	entry = (struct link_entry){ .slug = "aBc1234" };
	assert_true(link_answers_to(&entry, "aBc1234"));
	assert_false(link_answers_to(&entry, "abc1234"));
	link_key(&entry, key);
	assert_string_equal(key, "abc1234");
}

TEST_CASE(allows_only_four_redirect_statuses)
{
	int valid = 0;
	for (int64_t status = -1; status < 70000; status++)
		valid += link_redirect_status_is_valid(status) ? 1 : 0;
	assert_int_equal(valid, 4);
	assert_true(link_redirect_status_is_valid(301));
	assert_true(link_redirect_status_is_valid(302));
	assert_true(link_redirect_status_is_valid(307));
	assert_true(link_redirect_status_is_valid(308));
	assert_false(link_redirect_status_is_valid(INT64_C(4294967298) + 300));
}

TEST_CASE(formats_and_parses_each_state)
{
	for (enum link_state s = LINK_STATE_ACTIVE; s <= LINK_STATE_SCHEDULED; s++) {
		enum link_state back;
		assert_int_equal(link_state_parse(link_state_name(s), &back), OK);
		assert_int_equal(back, s);
		assert_int_equal(link_state_parse_stored(link_state_stored(s), &back), OK);
		assert_int_equal(back, s);
	}
	assert_string_equal(link_state_name(LINK_STATE_DISABLED), "disabled");
	assert_string_equal(link_state_stored(LINK_STATE_DISABLED), "DISABLED");
}

TEST_CASE(formats_and_parses_each_type)
{
	for (enum link_type t = LINK_TYPE_TEMPORARY; t <= LINK_TYPE_PERMANENT; t++) {
		enum link_type back;
		assert_int_equal(link_type_parse(link_type_name(t), &back), OK);
		assert_int_equal(back, t);
		assert_int_equal(link_type_parse_stored(link_type_stored(t), &back), OK);
		assert_int_equal(back, t);
	}
}

TEST_CASE(refuses_unknown_names)
{
	const char *const words[] = { "", "ACTIVE", "active ", "purged", "temporary" };
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		enum link_state out = LINK_STATE_DELETED;
		assert_int_equal(link_state_parse(words[i], &out), ERR_INVALID);
		assert_int_equal(out, LINK_STATE_DELETED);
	}
	enum link_type type = LINK_TYPE_PERMANENT;
	assert_int_equal(link_type_parse("active", &type), ERR_INVALID);
}

TEST_MAIN()
