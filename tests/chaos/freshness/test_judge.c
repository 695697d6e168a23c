#include <stdint.h>

#include "tests/chaos/freshness/judge.h"
#include "tests/support/test.h"

#define MS INT64_C(1000)
#define S INT64_C(1000000)
#define LINK 7

/* The history of one link, in milliseconds. */
struct fixture {
	struct timeline *timeline;
	struct timeline_link *link;
	int64_t bound_us;
};

static int setup(void **state)
{
	static struct fixture fixture;
	fixture = (struct fixture){ .timeline = timeline_new(), .bound_us = S };
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	timeline_free(((struct fixture *)*state)->timeline);
	return 0;
}

static void change(struct fixture *t, enum history_act act, enum history_outcome outcome,
                   int64_t begin_ms, int64_t end_ms, uint32_t destination)
{
	const struct history_change change = { .begin_us = begin_ms * MS,
		                               .end_us = end_ms * MS,
		                               .link = LINK,
		                               .destination = destination,
		                               .act = (uint8_t)act,
		                               .outcome = (uint8_t)outcome };
	timeline_add(t->timeline, &change);
}

static void done(struct fixture *t, enum history_act act, int64_t begin_ms, int64_t end_ms,
                 uint32_t destination)
{
	change(t, act, HISTORY_ACKED, begin_ms, end_ms, destination);
}

static void expire(struct fixture *t, int64_t begin_ms, int64_t end_ms, uint32_t destination,
                   int64_t expires_ms)
{
	const struct history_change change = { .begin_us = begin_ms * MS,
		                               .end_us = end_ms * MS,
		                               .expires_us = expires_ms * MS,
		                               .link = LINK,
		                               .destination = destination,
		                               .act = HISTORY_EXPIRE,
		                               .outcome = HISTORY_ACKED };
	timeline_add(t->timeline, &change);
}

static void look(struct fixture *t, int64_t begin_ms, int64_t end_ms, uint32_t destination,
                 bool is_deleted)
{
	const struct history_change change = { .begin_us = begin_ms * MS,
		                               .end_us = end_ms * MS,
		                               .link = LINK,
		                               .destination = destination,
		                               .act = HISTORY_LOOK,
		                               .outcome = HISTORY_ACKED,
		                               .is_deleted = is_deleted };
	timeline_add(t->timeline, &change);
}

static void settle(struct fixture *t)
{
	timeline_settle(t->timeline);
	t->link = timeline_link(t->timeline, LINK);
}

static struct history_read read_of(int64_t begin_ms, int64_t end_ms, uint16_t status,
                                   uint32_t destination)
{
	return (struct history_read){ .begin_us = begin_ms * MS,
		                      .lasted_us = (uint32_t)((end_ms - begin_ms) * MS),
		                      .link = LINK,
		                      .status = status,
		                      .destination = destination,
		                      .redirector = 1 };
}

static enum judge_verdict verdict(const struct fixture *t, int64_t begin_ms, int64_t end_ms,
                                  uint16_t status, uint32_t destination)
{
	struct history_read read = read_of(begin_ms, end_ms, status, destination);
	return judge_read(t->link, &read, t->bound_us).verdict;
}

TEST_CASE(a_link_may_be_seen_from_the_beginning_of_its_creation)
{
	struct fixture *t = *state;
	done(t, HISTORY_CREATE, 1000, 1010, 1);
	settle(t);
	assert_int_equal(verdict(t, 990, 999, 404, 0), JUDGE_RIGHT);
	assert_int_equal(verdict(t, 990, 999, 302, 1), JUDGE_NEVER);
	assert_int_equal(verdict(t, 990, 1001, 302, 1), JUDGE_RIGHT);
	assert_int_equal(verdict(t, 1009, 1012, 404, 0), JUDGE_RIGHT);
	assert_int_equal(verdict(t, 1009, 1012, 302, 1), JUDGE_RIGHT);
}

TEST_CASE(a_link_is_never_unknown_after_it_was_acknowledged)
{
	struct fixture *t = *state;
	done(t, HISTORY_CREATE, 1000, 1010, 1);
	settle(t);
	assert_int_equal(verdict(t, 1011, 1012, 404, 0), JUDGE_MISSING);
	t->bound_us = 5 * S;
	assert_int_equal(verdict(t, 1011, 1012, 404, 0), JUDGE_MISSING);
}

TEST_CASE(an_older_version_may_be_shown_only_within_the_bound)
{
	struct fixture *t = *state;
	done(t, HISTORY_CREATE, 1000, 1010, 1);
	done(t, HISTORY_EDIT, 5000, 5010, 2);
	settle(t);
	assert_int_equal(verdict(t, 6010, 6011, 302, 1), JUDGE_RIGHT);
	assert_int_equal(verdict(t, 6011, 6012, 302, 1), JUDGE_STALE);
	assert_int_equal(verdict(t, 6011, 6012, 302, 2), JUDGE_RIGHT);
	assert_int_equal(verdict(t, 4990, 4999, 302, 2), JUDGE_NEVER);
	t->bound_us = 5 * S;
	assert_int_equal(verdict(t, 10010, 10011, 302, 1), JUDGE_RIGHT);
	assert_int_equal(verdict(t, 10011, 10012, 302, 1), JUDGE_STALE);
}

TEST_CASE(a_locked_link_lets_nobody_through_beyond_the_bound)
{
	struct fixture *t = *state;
	const struct history_change lock = { .begin_us = 5 * S,
		                             .end_us = 5 * S,
		                             .link = LINK,
		                             .destination = 2,
		                             .is_locked = true,
		                             .act = HISTORY_EDIT,
		                             .outcome = HISTORY_ACKED };
	done(t, HISTORY_CREATE, 1000, 1010, 1);
	timeline_add(t->timeline, &lock);
	settle(t);
	assert_int_equal(verdict(t, 4000, 4001, 200, 0), JUDGE_OTHER);
	assert_int_equal(verdict(t, 6000, 6001, 302, 1), JUDGE_RIGHT);
	assert_int_equal(verdict(t, 6001, 6002, 302, 1), JUDGE_STALE);
	assert_int_equal(verdict(t, 6001, 6002, 302, 2), JUDGE_NEVER);
	assert_int_equal(verdict(t, 6001, 6002, 200, 0), JUDGE_RIGHT);
}

TEST_CASE(a_version_that_was_replaced_twice_counts_from_the_first_time)
{
	struct fixture *t = *state;
	done(t, HISTORY_CREATE, 1000, 1010, 1);
	done(t, HISTORY_EDIT, 2000, 2010, 2);
	done(t, HISTORY_EDIT, 2900, 2910, 3);
	settle(t);
	assert_int_equal(verdict(t, 3000, 3001, 302, 1), JUDGE_RIGHT);
	assert_int_equal(verdict(t, 3020, 3021, 302, 1), JUDGE_STALE);
	assert_int_equal(verdict(t, 3020, 3021, 302, 2), JUDGE_RIGHT);
}

TEST_CASE(the_age_of_an_answer_is_reported)
{
	struct fixture *t = *state;
	done(t, HISTORY_CREATE, 1000, 1010, 1);
	done(t, HISTORY_EDIT, 2000, 2010, 2);
	settle(t);
	struct history_read read = read_of(2310, 2311, 302, 1);
	struct judge_finding finding = judge_read(t->link, &read, t->bound_us);
	assert_int_equal(finding.stale_us, 300 * MS);
	judge_note(t->link, &read, &finding);
	assert_int_equal(t->link->versions[2].unseen_us, 300 * MS);
	assert_true(t->link->versions[2].was_read);
	assert_int_equal(t->link->versions[1].unseen_us, 0);
	read = read_of(9000, 9001, 302, 1);
	finding = judge_read(t->link, &read, t->bound_us);
	assert_int_equal(finding.verdict, JUDGE_STALE);
	assert_int_equal(finding.stale_us, 6990 * MS);
}

TEST_CASE(disabled_and_deleted_links_are_404)
{
	struct fixture *t = *state;
	done(t, HISTORY_CREATE, 1000, 1010, 1);
	done(t, HISTORY_DISABLE, 3000, 3010, 2);
	done(t, HISTORY_ENABLE, 6000, 6010, 3);
	done(t, HISTORY_DELETE, 9000, 9010, 3);
	done(t, HISTORY_RESTORE, 12000, 12010, 3);
	settle(t);
	assert_int_equal(verdict(t, 2000, 2001, 404, 0), JUDGE_MISSING);
	assert_int_equal(verdict(t, 3005, 3006, 404, 0), JUDGE_RIGHT);
	assert_int_equal(verdict(t, 4020, 4021, 302, 1), JUDGE_STALE);
	assert_int_equal(verdict(t, 4020, 4021, 302, 2), JUDGE_NEVER);
	assert_int_equal(verdict(t, 7020, 7021, 404, 0), JUDGE_STALE);
	assert_int_equal(verdict(t, 7020, 7021, 302, 3), JUDGE_RIGHT);
	assert_int_equal(verdict(t, 10020, 10021, 302, 3), JUDGE_STALE);
	assert_int_equal(verdict(t, 10020, 10021, 404, 0), JUDGE_RIGHT);
	assert_int_equal(verdict(t, 12005, 12006, 302, 3), JUDGE_RIGHT);
	assert_int_equal(verdict(t, 13020, 13021, 404, 0), JUDGE_STALE);
}

TEST_CASE(a_redirect_after_expiry_is_a_violation)
{
	struct fixture *t = *state;
	done(t, HISTORY_CREATE, 1000, 1010, 1);
	expire(t, 2000, 2010, 2, 5000);
	settle(t);
	assert_int_equal(verdict(t, 4000, 4001, 302, 2), JUDGE_RIGHT);
	assert_int_equal(verdict(t, 4800, 4899, 410, 0), JUDGE_GONE);
	assert_int_equal(verdict(t, 4900, 4901, 410, 0), JUDGE_RIGHT);
	assert_int_equal(verdict(t, 5100, 5101, 302, 2), JUDGE_RIGHT);
	assert_int_equal(verdict(t, 5101, 5102, 302, 2), JUDGE_EXPIRED);
	t->bound_us = 5 * S;
	assert_int_equal(verdict(t, 5101, 5102, 302, 2), JUDGE_EXPIRED);
	assert_int_equal(verdict(t, 5101, 5102, 404, 0), JUDGE_MISSING);
}

TEST_CASE(an_expiry_that_was_taken_back_is_no_excuse_for_410)
{
	struct fixture *t = *state;
	done(t, HISTORY_CREATE, 1000, 1010, 1);
	expire(t, 2000, 2010, 2, 5000);
	done(t, HISTORY_EDIT, 6000, 6010, 3);
	settle(t);
	assert_int_equal(verdict(t, 7000, 7001, 410, 0), JUDGE_RIGHT);
	assert_int_equal(verdict(t, 7020, 7021, 410, 0), JUDGE_STALE);
	assert_int_equal(verdict(t, 6005, 6006, 302, 3), JUDGE_RIGHT);
	assert_int_equal(verdict(t, 6005, 6006, 302, 2), JUDGE_EXPIRED);
}

TEST_CASE(a_change_of_unknown_outcome_may_be_seen_or_not_at_any_time)
{
	struct fixture *t = *state;
	done(t, HISTORY_CREATE, 1000, 1010, 1);
	change(t, HISTORY_EDIT, HISTORY_UNKNOWN, 2000, 2500, 2);
	settle(t);
	assert_int_equal(verdict(t, 1990, 1999, 302, 2), JUDGE_NEVER);
	assert_int_equal(verdict(t, 2001, 2002, 302, 2), JUDGE_RIGHT);
	assert_int_equal(verdict(t, 60000, 60001, 302, 1), JUDGE_RIGHT);
	assert_int_equal(verdict(t, 60000, 60001, 302, 2), JUDGE_RIGHT);
}

TEST_CASE(a_look_that_shows_an_unknown_change_acknowledges_it)
{
	struct fixture *t = *state;
	done(t, HISTORY_CREATE, 1000, 1010, 1);
	change(t, HISTORY_EDIT, HISTORY_UNKNOWN, 2000, 2500, 2);
	look(t, 3000, 3010, 2, false);
	settle(t);
	assert_int_equal(verdict(t, 4010, 4011, 302, 1), JUDGE_RIGHT);
	assert_int_equal(verdict(t, 4011, 4012, 302, 1), JUDGE_STALE);
}

TEST_CASE(a_look_that_does_not_show_a_change_settles_nothing)
{
	struct fixture *t = *state;
	done(t, HISTORY_CREATE, 1000, 1010, 1);
	change(t, HISTORY_DELETE, HISTORY_UNKNOWN, 2000, 2500, 1);
	look(t, 3000, 3010, 1, false);
	settle(t);
	assert_int_equal(verdict(t, 9000, 9001, 404, 0), JUDGE_RIGHT);
	assert_int_equal(verdict(t, 9000, 9001, 302, 1), JUDGE_RIGHT);
}

TEST_CASE(an_unknown_change_was_not_made_if_a_later_one_was_acknowledged_without_it)
{
	struct fixture *t = *state;
	done(t, HISTORY_CREATE, 1000, 1010, 1);
	change(t, HISTORY_EDIT, HISTORY_UNKNOWN, 2000, 2500, 2);
	change(t, HISTORY_EDIT, HISTORY_UNKNOWN, 2600, 2700, 3);
	look(t, 3000, 3010, 1, false);
	done(t, HISTORY_EDIT, 4000, 4010, 4);
	settle(t);
	assert_int_equal(t->link->count, 3);
	assert_int_equal(verdict(t, 3000, 3001, 302, 2), JUDGE_NEVER);
	assert_int_equal(verdict(t, 5020, 5021, 302, 1), JUDGE_STALE);
	assert_int_equal(verdict(t, 5020, 5021, 302, 4), JUDGE_RIGHT);
}

TEST_CASE(of_several_unknown_changes_a_look_picks_one)
{
	struct fixture *t = *state;
	done(t, HISTORY_CREATE, 1000, 1010, 1);
	change(t, HISTORY_EDIT, HISTORY_UNKNOWN, 2000, 2500, 2);
	change(t, HISTORY_DELETE, HISTORY_UNKNOWN, 2600, 2700, 1);
	look(t, 3000, 3010, 1, true);
	done(t, HISTORY_RESTORE, 4000, 4010, 1);
	settle(t);
	assert_int_equal(t->link->count, 4);
	assert_int_equal(verdict(t, 3500, 3501, 404, 0), JUDGE_RIGHT);
	assert_int_equal(verdict(t, 4020, 4021, 302, 2), JUDGE_NEVER);
	assert_int_equal(verdict(t, 4020, 4021, 302, 1), JUDGE_RIGHT);
}

TEST_CASE(a_refused_change_makes_no_version)
{
	struct fixture *t = *state;
	done(t, HISTORY_CREATE, 1000, 1010, 1);
	change(t, HISTORY_EDIT, HISTORY_REFUSED, 2000, 2010, 2);
	settle(t);
	assert_int_equal(verdict(t, 2020, 2021, 302, 2), JUDGE_NEVER);
	assert_int_equal(verdict(t, 5000, 5001, 302, 1), JUDGE_RIGHT);
}

TEST_CASE(a_missing_answer_proves_nothing)
{
	struct fixture *t = *state;
	done(t, HISTORY_CREATE, 1000, 1010, 1);
	settle(t);
	assert_int_equal(verdict(t, 2000, 2001, 0, 0), JUDGE_NO_ANSWER);
	assert_int_equal(verdict(t, 2000, 2001, 503, 0), JUDGE_503);
	assert_int_equal(verdict(t, 2000, 2001, 500, 0), JUDGE_OTHER);
	assert_int_equal(verdict(t, 2000, 2001, 302, 0), JUDGE_NEVER);
}

TEST_CASE(links_that_nobody_made_are_404)
{
	struct fixture *t = *state;
	settle(t);
	assert_int_equal(verdict(t, 2000, 2001, 404, 0), JUDGE_RIGHT);
	assert_int_equal(verdict(t, 2000, 2001, 302, 1), JUDGE_NEVER);
}

TEST_MAIN(.set_up = setup, .tear_down = teardown)
