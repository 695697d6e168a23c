#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "tests/support/test_database.h"

#define DEADLINE_MS 60000
#define NOBODY_URL "postgresql://janitor@127.0.0.1:1/waymark"

struct fixture {
	struct test_database *db;
	char program[512];
	char url[TEST_DATABASE_URL_SIZE];
};

static int set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	f->db = test_database_new();
	test_database_url(f->db, "waymark_janitor", f->url);
	snprintf(f->program, sizeof(f->program), "%s/bin/janitor", getenv("WAYMARK_BUILD_DIR"));
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	test_database_drop(f->db);
	free(f);
	return 0;
}

/* A janitor with this database and these "NAME=VALUE"; its log goes to stderr. It does not outlive the test. */
static pid_t start(const struct fixture *f, const char *argument, const char *const *settings)
{
	char *environment[24] = { NULL };
	char url[TEST_DATABASE_URL_SIZE + 16];
	size_t count = 0;
	snprintf(url, sizeof(url), "PG_URL=%s", f->url);
	environment[count++] = url;
	environment[count++] = (char *)(uintptr_t) "OPS_PORT=0";
	for (; settings && *settings; settings++)
		environment[count++] = (char *)(uintptr_t)*settings;
	char *argv[] = { (char *)(uintptr_t) "janitor", (char *)(uintptr_t)argument, NULL };
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execve(f->program, argv, environment);
	_exit(127);
}

/* Waits for the end; gives the exit status, or minus the signal. */
static int await_end(pid_t pid)
{
	int64_t deadline_us = clock_steady_us(clock_system()) + DEADLINE_MS * CLOCK_US_PER_MS;
	int status;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (clock_steady_us(clock_system()) > deadline_us) {
			kill(pid, SIGKILL);
			fail_msg("the janitor does not end");
		}
		poll(NULL, 0, 10);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int end(pid_t pid, int signal)
{
	assert_int_equal(kill(pid, signal), 0);
	return await_end(pid);
}

static void add_due_links(struct fixture *f, const char *count)
{
	char sql[256];
	snprintf(
		sql, sizeof(sql),
		"INSERT INTO links (slug, link_type, original_url, expires_at) "
		"SELECT 'slug-' || i, 'TEMPORARY', 'https://example.com/', clock_timestamp() FROM generate_series(1, %s) AS i",
		count);
	test_database_run(f->db, sql);
}

static void does_everything_once_and_ends_well(void **state)
{
	struct fixture *f = *state;
	add_due_links(f, "1500");
	assert_int_equal(await_end(start(f, "--once", NULL)), 0);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links WHERE state = 'EXPIRED'"), 1500);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM visitor_salts WHERE day BETWEEN "
	                                          "(clock_timestamp() AT TIME ZONE 'UTC')::date AND "
	                                          "(clock_timestamp() AT TIME ZONE 'UTC')::date + 2"),
	                 3);
	assert_int_equal(
		test_database_ask(f->db, "SELECT count(*) FROM pg_inherits WHERE inhparent = 'visit_log'::regclass"),
		9);
	/* It leaves no lock behind. */
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM shedlock WHERE lock_until > clock_timestamp()"),
	                 0);
	const char *const no_grace[] = { "EXPIRED_GRACE_S=0", NULL };
	assert_int_equal(await_end(start(f, "--once", no_grace)), 0);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM link_tombstones"), 1500);
}

static void ends_badly_when_something_could_not_be_done_once(void **state)
{
	struct fixture *f = *state;
	test_database_run(f->db, "REVOKE INSERT ON visitor_salts FROM waymark_janitor");
	assert_int_equal(await_end(start(f, "--once", NULL)), 1);
	/* The other tasks were done all the same. */
	assert_int_equal(
		test_database_ask(f->db, "SELECT count(*) FROM pg_inherits WHERE inhparent = 'visit_log'::regclass"),
		9);
	snprintf(f->url, sizeof(f->url), NOBODY_URL);
	assert_int_equal(await_end(start(f, "--once", NULL)), 1);
}

static void refuses_other_arguments_and_wrong_variables(void **state)
{
	struct fixture *f = *state;
	const char *const wrong[] = { "EXPIRY_PERIOD_S=0", NULL };
	assert_int_equal(await_end(start(f, "--twice", NULL)), 64);
	assert_int_equal(await_end(start(f, "--once", wrong)), 64);
	assert_int_equal(await_end(start(f, "--check-config", NULL)), 0);
}

static const char count_salts[] = "SELECT count(*) FROM visitor_salts";
static const char count_expired[] = "SELECT count(*) FROM links WHERE state = 'EXPIRED'";

static void makes_salts_and_partitions_right_after_its_start(void **state)
{
	struct fixture *f = *state;
	pid_t pid = start(f, NULL, NULL);
	test_database_await(f->db, count_salts, 3, 10000);
	test_database_await(f->db, "SELECT count(*) FROM pg_inherits WHERE inhparent = 'visit_log'::regclass", 9,
	                    10000);
	assert_int_equal(end(pid, SIGTERM), 0);
}

static void goes_on_and_on_by_its_timetable(void **state)
{
	struct fixture *f = *state;
	const char *const settings[] = { "EXPIRY_PERIOD_S=1", "EXPIRY_FIRST_DELAY_S=0", "EXPIRED_GRACE_S=1", NULL };
	pid_t pid = start(f, NULL, settings);
	for (int round = 1; round <= 3; round++) {
		char sql[128];
		snprintf(sql, sizeof(sql), "UPDATE links SET slug = 'round-%d-' || id WHERE slug LIKE 'slug-%%'",
		         round);
		add_due_links(f, "10");
		test_database_run(f->db, sql);
		test_database_await(f->db, "SELECT count(*) FROM link_tombstones", 10 * round, 10000);
	}
	assert_int_equal(end(pid, SIGTERM), 0);
}

static void does_not_let_a_task_that_hangs_delay_the_others(void **state)
{
	struct fixture *f = *state;
	const char *const settings[] = { "EXPIRY_FIRST_DELAY_S=0", NULL };
	add_due_links(f, "10");
	test_database_run(f->db, "BEGIN");
	test_database_run(f->db, "LOCK TABLE visitor_salts IN ACCESS EXCLUSIVE MODE");
	pid_t pid = start(f, NULL, settings);
	test_database_await(f->db, count_expired, 10, 20000);
	test_database_await(f->db, "SELECT count(*) FROM pg_inherits WHERE inhparent = 'visit_log'::regclass", 9,
	                    20000);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM pg_locks WHERE NOT granted AND "
	                                          "relation = 'visitor_salts'::regclass"),
	                 1);
	test_database_run(f->db, "ROLLBACK");
	test_database_await(f->db, count_salts, 3, 20000);
	assert_int_equal(end(pid, SIGTERM), 0);
}

static void starts_before_postgresql_and_ends_without_it(void **state)
{
	struct fixture *f = *state;
	char own[TEST_DATABASE_URL_SIZE];
	memcpy(own, f->url, sizeof(own));
	snprintf(f->url, sizeof(f->url), NOBODY_URL);
	pid_t pid = start(f, NULL, NULL);
	/* It is still there while another does the work. */
	memcpy(f->url, own, sizeof(own));
	pid_t other = start(f, NULL, NULL);
	test_database_await(f->db, count_salts, 3, 10000);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	assert_int_equal(end(pid, SIGTERM), 0);
	assert_int_equal(end(other, SIGINT), 0);
}

static void tries_again_soon_after_a_failure(void **state)
{
	struct fixture *f = *state;
	test_database_run(f->db, "ALTER TABLE visitor_salts RENAME TO not_yet_there");
	pid_t pid = start(f, NULL, NULL);
	test_database_await(f->db, "SELECT count(*) FROM shedlock WHERE name = 'waymark-salts'", 1, 10000);
	test_database_run(f->db, "ALTER TABLE not_yet_there RENAME TO visitor_salts");
	test_database_await(f->db, count_salts, 3, 15000);
	assert_int_equal(end(pid, SIGTERM), 0);
}

static void is_followed_by_another_when_it_is_killed_in_the_middle(void **state)
{
	struct fixture *f = *state;
	const char *const settings[] = { "EXPIRY_PERIOD_S=1", "EXPIRY_FIRST_DELAY_S=0", "EXPIRED_GRACE_S=0",
		                         "LOCK_AT_LEAST_S=0", "LOCK_AT_MOST_S=3",       NULL };
	add_due_links(f, "20000");
	pid_t first = start(f, NULL, settings);
	test_database_await(f->db, "SELECT CASE WHEN count(*) > 0 THEN 1 ELSE 0 END FROM links WHERE state = 'EXPIRED'",
	                    1, 10000);
	assert_int_equal(end(first, SIGKILL), -SIGKILL);
	assert_in_range(test_database_ask(f->db, count_expired), 1, 19999);
	test_database_run(f->db, "CREATE TABLE at_death AS SELECT fence, lock_until FROM shedlock "
	                         "WHERE name = 'waymark-expiry'");

	/* It died with the lock: nobody takes it before its time is over. */
	pid_t second = start(f, NULL, settings);
	test_database_await(f->db,
	                    "SELECT count(*) FROM shedlock, at_death WHERE name = 'waymark-expiry' AND "
	                    "shedlock.fence > at_death.fence",
	                    1, 10000);
	assert_int_equal(
		test_database_ask(f->db, "SELECT count(*) FROM at_death WHERE lock_until <= clock_timestamp()"), 1);
	test_database_await(f->db, "SELECT count(*) FROM link_tombstones", 20000, DEADLINE_MS);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links"), 0);
	/* Each link was marked once and purged once, whoever did it. */
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox"), 40000);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM link_tombstones WHERE version <> 3"), 0);
	assert_int_equal(end(second, SIGTERM), 0);
}

static void lets_its_lock_go_at_once_when_it_is_asked_to_end(void **state)
{
	struct fixture *f = *state;
	const char *const settings[] = { "EXPIRY_FIRST_DELAY_S=0", NULL };
	add_due_links(f, "20000");
	pid_t pid = start(f, NULL, settings);
	test_database_await(f->db, "SELECT CASE WHEN count(*) > 0 THEN 1 ELSE 0 END FROM links WHERE state = 'EXPIRED'",
	                    1, 10000);
	assert_int_equal(end(pid, SIGTERM), 0);
	int64_t expired = test_database_ask(f->db, count_expired);
	assert_in_range(expired, 100, 19900); /* whole batches, of 100 to 1,000 */
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM shedlock WHERE name = 'waymark-expiry' "
	                                          "AND lock_until > clock_timestamp()"),
	                 0);
}

static void leaves_its_lock_for_a_while_when_a_run_was_whole(void **state)
{
	struct fixture *f = *state;
	const char *const settings[] = { "EXPIRY_FIRST_DELAY_S=0", NULL };
	add_due_links(f, "10");
	static const char stays[] = "SELECT count(*) FROM shedlock WHERE name = 'waymark-expiry' AND "
				    "lock_until BETWEEN locked_at + interval '599 s' AND locked_at + interval '601 s'";
	pid_t pid = start(f, NULL, settings);
	test_database_await(f->db, stays, 1, 10000);
	assert_int_equal(test_database_ask(f->db, count_expired), 10);
	assert_int_equal(end(pid, SIGTERM), 0);
	assert_int_equal(test_database_ask(f->db, stays), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(does_everything_once_and_ends_well),
		TEST(ends_badly_when_something_could_not_be_done_once),
		TEST(refuses_other_arguments_and_wrong_variables),
		TEST(makes_salts_and_partitions_right_after_its_start),
		TEST(goes_on_and_on_by_its_timetable),
		TEST(does_not_let_a_task_that_hangs_delay_the_others),
		TEST(starts_before_postgresql_and_ends_without_it),
		TEST(tries_again_soon_after_a_failure),
		TEST(is_followed_by_another_when_it_is_killed_in_the_middle),
		TEST(lets_its_lock_go_at_once_when_it_is_asked_to_end),
		TEST(leaves_its_lock_for_a_while_when_a_run_was_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
