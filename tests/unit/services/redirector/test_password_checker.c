#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/password.h"
#include "services/redirector/gate/password_checker.h"
#include "tests/support/clock_fake.h"
#include "tests/support/test.h"

#define LINK 7
#define OWNER "203.0.113.7"

struct fixture {
	struct clock_fake clock;
	struct metrics *metrics;
	struct password_checker *checker;
	char hash[PASSWORD_HASH_SIZE];
	sem_t done;
	_Atomic int verdicts[PASSWORD_VERDICTS];
	_Atomic enum password_verdict last;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	clock_fake_init(&f->clock, INT64_C(1767225600) * CLOCK_US_PER_S);
	f->metrics = metrics_new();
	f->checker = password_checker_new(&f->clock.clock, f->metrics);
	sem_init(&f->done, 0, 0);
	assert_int_equal(password_hash("right", PASSWORD_COST_MIN, f->hash), OK);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	password_checker_free(f->checker);
	metrics_free(f->metrics);
	sem_destroy(&f->done);
	free(f);
	return 0;
}

static void on_done(void *ctx, enum password_verdict verdict)
{
	struct fixture *f = ctx;
	f->verdicts[verdict]++;
	f->last = verdict;
	sem_post(&f->done);
}

static struct client_ip address(const char *text)
{
	struct client_ip ip;
	assert_int_equal(client_ip_parse(text, strlen(text), &ip), OK);
	return ip;
}

static void start(struct fixture *f, const char *from, int64_t link_id, const char *hash,
                  const char *password)
{
	password_checker_start(f->checker,
	                       &(struct password_try){ .visitor = address(from),
	                                               .link_id = link_id,
	                                               .hash = hash,
	                                               .password = password },
	                       on_done, f);
}

static void await(struct fixture *f)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 60;
	assert_int_equal(sem_timedwait(&f->done, &until), 0);
}

static enum password_verdict try_from(struct fixture *f, const char *from, const char *password)
{
	start(f, from, LINK, f->hash, password);
	await(f);
	return f->last;
}

TEST_CASE(tells_right_from_wrong)
{
	struct fixture *f = *state;
	char longer[200];
	memset(longer, 'r', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(try_from(f, OWNER, "right"), PASSWORD_RIGHT);
	assert_int_equal(try_from(f, OWNER, "righ"), PASSWORD_WRONG);
	assert_int_equal(try_from(f, OWNER, ""), PASSWORD_WRONG);
	assert_int_equal(try_from(f, OWNER, longer), PASSWORD_WRONG);
	/* Remembered, and still right. */
	assert_int_equal(try_from(f, OWNER, "right"), PASSWORD_RIGHT);
}

/* What is remembered belongs to the hash: a changed password forgets it. */
TEST_CASE(a_password_that_was_right_is_wrong_after_a_change)
{
	struct fixture *f = *state;
	char changed[PASSWORD_HASH_SIZE];
	assert_int_equal(try_from(f, OWNER, "right"), PASSWORD_RIGHT);
	assert_int_equal(password_hash("new", PASSWORD_COST_MIN, changed), OK);
	start(f, OWNER, LINK, changed, "right");
	await(f);
	assert_int_equal(f->last, PASSWORD_WRONG);
	/* A prefix of hash and password is not another pair. */
	start(f, OWNER, LINK, "", "right");
	await(f);
	assert_int_equal(f->last, PASSWORD_WRONG);
}

TEST_CASE(limits_wrong_passwords_of_a_network_at_a_link)
{
	struct fixture *f = *state;
	struct client_ip owner = address(OWNER);
	for (int i = 0; i < PASSWORD_CHECKER_WRONG_MAX; i++)
		assert_int_equal(try_from(f, OWNER, "wrong"), PASSWORD_WRONG);
	/* Also for the right one, and for a neighbour. */
	assert_int_equal(try_from(f, OWNER, "right"), PASSWORD_LIMITED);
	assert_int_equal(try_from(f, "203.0.113.99", "right"), PASSWORD_LIMITED);
	assert_int_equal(password_checker_wait_s(f->checker, &owner, LINK), 12);
	/* Other networks and links do not notice. */
	assert_int_equal(try_from(f, "203.0.114.7", "right"), PASSWORD_RIGHT);
	assert_int_equal(try_from(f, "2001:db8::1", "right"), PASSWORD_RIGHT);
	start(f, OWNER, LINK + 1, f->hash, "right");
	await(f);
	assert_int_equal(f->last, PASSWORD_RIGHT);
	clock_fake_advance(&f->clock, 12 * CLOCK_US_PER_S);
	assert_int_equal(try_from(f, OWNER, "right"), PASSWORD_RIGHT);
}

/* Right ones do not count, however many. */
TEST_CASE(right_passwords_are_not_limited)
{
	struct fixture *f = *state;
	for (int i = 0; i < 20 * PASSWORD_CHECKER_WRONG_MAX; i++)
		assert_int_equal(try_from(f, OWNER, "right"), PASSWORD_RIGHT);
}

TEST_CASE(guesses_at_the_same_time_do_not_exceed_the_limit)
{
	struct fixture *f = *state;
	for (int i = 0; i < 50; i++)
		start(f, OWNER, LINK, f->hash, "wrong");
	for (int i = 0; i < 50; i++)
		await(f);
	/* Of those that ended meanwhile, each one counted before the next was looked at. */
	assert_int_equal(f->verdicts[PASSWORD_WRONG], PASSWORD_CHECKER_WRONG_MAX);
	assert_int_equal(f->verdicts[PASSWORD_LIMITED], 50 - PASSWORD_CHECKER_WRONG_MAX);
}

/* A flood from many networks fills the queue; who was not wrong yet still has a place. */
TEST_CASE(a_flood_leaves_a_place_for_others)
{
	struct fixture *f = *state;
	char from[32];
	assert_int_equal(password_hash("right", 8, f->hash), OK);
	/* Each network is wrong once, so none goes before others. */
	for (int i = 0; i < 250; i++) {
		snprintf(from, sizeof(from), "10.0.%d.1", i);
		start(f, from, LINK, "", "wrong");
		await(f);
	}
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 250; i++) {
			snprintf(from, sizeof(from), "10.0.%d.1", i);
			start(f, from, LINK, f->hash, "wrong");
		}
	start(f, OWNER, LINK, f->hash, "right");
	for (int i = 0; i < 501; i++)
		await(f);
	assert_int_equal(f->verdicts[PASSWORD_RIGHT], 1);
	assert_true(f->verdicts[PASSWORD_BUSY] > 0);
	/* A place that was lost is no wrong password. */
	assert_int_equal(f->verdicts[PASSWORD_LIMITED], 0);
}

TEST_MAIN(.set_up = set_up, .tear_down = tear_down)
