#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "services/janitor/retention/days.h"
#include "tests/support/test.h"
#include "tests/support/test_database.h"

/* Of visit_log: today, the days ahead, and the default one. */
#define PARTITIONS (1 + DAYS_OF_PARTITIONS_AHEAD + 1)

#define DEADLINE_MS 300000
#define UNREACHABLE_URL "postgresql://janitor@127.0.0.1:1/waymark"

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
	test_database_close(f->db);
	free(f);
	return 0;
}

/*
 * Starts a janitor with this database and these "NAME=VALUE". It logs to stderr and ends with the
 * test.
 */
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

/* Waits for the process; returns its exit status, or minus the signal. */
static int await_exit(pid_t pid)
{
	int64_t deadline_us = clock_steady_us(clock_system()) + DEADLINE_MS * CLOCK_US_PER_MS;
	int status;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (clock_steady_us(clock_system()) > deadline_us) {
			kill(pid, SIGKILL);
			fail_msg("the janitor does not exit");
		}
		poll(NULL, 0, 10);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int stop(pid_t pid, int signal)
{
	assert_int_equal(kill(pid, signal), 0);
	return await_exit(pid);
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

TEST_CASE(runs_every_task_once_and_exits_with_success)
{
	struct fixture *f = *state;
	add_due_links(f, "1500");
	assert_int_equal(await_exit(start(f, "--once", NULL)), 0);
	assert_int_equal(
		test_database_ask(f->db, "SELECT count(*) FROM links WHERE state = 'EXPIRED'"),
		1500);
	assert_int_equal(test_database_ask(f->db,
	                                   "SELECT count(*) FROM visitor_salts WHERE day BETWEEN "
	                                   "(clock_timestamp() AT TIME ZONE 'UTC')::date AND "
	                                   "(clock_timestamp() AT TIME ZONE 'UTC')::date + 2"),
	                 3);
	assert_int_equal(
		test_database_ask(
			f->db,
			"SELECT count(*) FROM pg_inherits WHERE inhparent = 'visit_log'::regclass"),
		PARTITIONS);
	/* No lock is left behind. */
	assert_int_equal(
		test_database_ask(
			f->db,
			"SELECT count(*) FROM shedlock WHERE lock_until > clock_timestamp()"),
		0);
	const char *const no_grace[] = { "EXPIRED_GRACE_S=0", NULL };
	assert_int_equal(await_exit(start(f, "--once", no_grace)), 0);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM link_tombstones"), 1500);
}

TEST_CASE(exits_with_failure_when_a_task_failed)
{
	struct fixture *f = *state;
	test_database_run(f->db, "REVOKE INSERT ON visitor_salts FROM waymark_janitor");
	assert_int_equal(await_exit(start(f, "--once", NULL)), 1);
	/* The other tasks still ran. */
	assert_int_equal(
		test_database_ask(
			f->db,
			"SELECT count(*) FROM pg_inherits WHERE inhparent = 'visit_log'::regclass"),
		PARTITIONS);
	snprintf(f->url, sizeof(f->url), UNREACHABLE_URL);
	assert_int_equal(await_exit(start(f, "--once", NULL)), 1);
}

TEST_CASE(refuses_unknown_arguments_and_invalid_variables)
{
	struct fixture *f = *state;
	const char *const wrong[] = { "EXPIRY_PERIOD_S=0", NULL };
	assert_int_equal(await_exit(start(f, "--twice", NULL)), 64);
	assert_int_equal(await_exit(start(f, "--once", wrong)), 64);
	assert_int_equal(await_exit(start(f, "--check-config", NULL)), 0);
}

static const char count_salts[] = "SELECT count(*) FROM visitor_salts";
static const char count_expired[] = "SELECT count(*) FROM links WHERE state = 'EXPIRED'";

TEST_CASE(creates_salts_and_partitions_right_after_start)
{
	struct fixture *f = *state;
	pid_t pid = start(f, NULL, NULL);
	test_database_await(f->db, count_salts, 3, TEST_DEADLINE_MS);
	test_database_await(
		f->db, "SELECT count(*) FROM pg_inherits WHERE inhparent = 'visit_log'::regclass",
		32, TEST_DEADLINE_MS);
	assert_int_equal(stop(pid, SIGTERM), 0);
}

TEST_CASE(repeats_a_task_on_schedule)
{
	struct fixture *f = *state;
	const char *const settings[] = { "EXPIRY_PERIOD_S=1", "EXPIRY_FIRST_DELAY_S=0",
		                         "EXPIRED_GRACE_S=1", NULL };
	pid_t pid = start(f, NULL, settings);
	for (int i = 1; i <= 3; i++) {
		char sql[128];
		snprintf(sql, sizeof(sql),
		         "UPDATE links SET slug = 'run-%d-' || id WHERE slug LIKE 'slug-%%'", i);
		add_due_links(f, "10");
		test_database_run(f->db, sql);
		test_database_await(f->db, "SELECT count(*) FROM link_tombstones", 10 * i,
		                    TEST_DEADLINE_MS);
	}
	assert_int_equal(stop(pid, SIGTERM), 0);
}

TEST_CASE(is_not_delayed_by_a_task_that_hangs)
{
	struct fixture *f = *state;
	const char *const settings[] = { "EXPIRY_FIRST_DELAY_S=0", NULL };
	add_due_links(f, "10");
	test_database_run(f->db, "BEGIN");
	test_database_run(f->db, "LOCK TABLE visitor_salts IN ACCESS EXCLUSIVE MODE");
	pid_t pid = start(f, NULL, settings);
	test_database_await(f->db, count_expired, 10, TEST_DEADLINE_MS);
	test_database_await(
		f->db, "SELECT count(*) FROM pg_inherits WHERE inhparent = 'visit_log'::regclass",
		32, TEST_DEADLINE_MS);
	test_database_await(f->db,
	                    "SELECT count(*) FROM pg_locks WHERE NOT granted AND "
	                    "relation = 'visitor_salts'::regclass",
	                    1, TEST_DEADLINE_MS);
	test_database_run(f->db, "ROLLBACK");
	test_database_await(f->db, count_salts, 3, TEST_DEADLINE_MS);
	assert_int_equal(stop(pid, SIGTERM), 0);
}

/* Whether the process has begun to wait for SIGTERM; before, the signal would kill it. */
static bool blocks_sigterm(pid_t pid)
{
	static const char name[] = "SigBlk:";
	char path[64], line[256];
	unsigned long long blocked = 0;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *status = fopen(path, "re");
	assert_non_null(status);
	while (fgets(line, sizeof(line), status))
		if (strncmp(line, name, strlen(name)) == 0)
			blocked = strtoull(line + strlen(name), NULL, 16);
	fclose(status);
	return (blocked >> (SIGTERM - 1)) & 1;
}

static void await_start(pid_t pid)
{
	int64_t until_us = clock_steady_us(clock_system()) + TEST_DEADLINE_US;
	while (!blocks_sigterm(pid)) {
		assert_true(clock_steady_us(clock_system()) < until_us);
		usleep(1000); /* between two looks */
	}
}

TEST_CASE(starts_and_stops_without_postgresql)
{
	struct fixture *f = *state;
	char own[TEST_DATABASE_URL_SIZE];
	memcpy(own, f->url, sizeof(own));
	snprintf(f->url, sizeof(f->url), UNREACHABLE_URL);
	pid_t pid = start(f, NULL, NULL);
	await_start(pid);
	/* It keeps running while another janitor does the work. */
	memcpy(f->url, own, sizeof(own));
	pid_t other = start(f, NULL, NULL);
	test_database_await(f->db, count_salts, 3, TEST_DEADLINE_MS);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	assert_int_equal(stop(pid, SIGTERM), 0);
	assert_int_equal(stop(other, SIGINT), 0);
}

TEST_CASE(retries_soon_after_a_failure)
{
	struct fixture *f = *state;
	test_database_run(f->db, "ALTER TABLE visitor_salts RENAME TO not_yet_there");
	pid_t pid = start(f, NULL, NULL);
	test_database_await(f->db, "SELECT count(*) FROM shedlock WHERE name = 'waymark-salts'", 1,
	                    TEST_DEADLINE_MS);
	test_database_run(f->db, "ALTER TABLE not_yet_there RENAME TO visitor_salts");
	test_database_await(f->db, count_salts, 3, TEST_DEADLINE_MS);
	assert_int_equal(stop(pid, SIGTERM), 0);
}

TEST_CASE(is_replaced_by_another_janitor_after_a_kill)
{
	struct fixture *f = *state;
	/* The last one is for the first janitor, which is still at work when it is killed. */
	const char *settings[] = { "EXPIRY_PERIOD_S=1",
		                   "EXPIRY_FIRST_DELAY_S=0",
		                   "EXPIRED_GRACE_S=0",
		                   "LOCK_AT_LEAST_S=0",
		                   "LOCK_AT_MOST_S=3",
		                   "EXPIRY_LINKS_PER_S=2500",
		                   NULL };
	add_due_links(f, "20000");
	pid_t first = start(f, NULL, settings);
	test_database_await(
		f->db,
		"SELECT CASE WHEN count(*) > 0 THEN 1 ELSE 0 END FROM links WHERE state = 'EXPIRED'",
		1, TEST_DEADLINE_MS);
	assert_int_equal(stop(first, SIGKILL), -SIGKILL);
	assert_in_range(test_database_ask(f->db, count_expired), 1, 19999);
	test_database_run(f->db, "CREATE TABLE at_kill AS SELECT fence, lock_until FROM shedlock "
	                         "WHERE name = 'waymark-expiry'");

	/* The killed janitor held the lock: nobody acquires it before it expires. */
	settings[5] = NULL;
	pid_t second = start(f, NULL, settings);
	test_database_await(
		f->db,
		"SELECT count(*) FROM shedlock, at_kill WHERE name = 'waymark-expiry' AND "
		"shedlock.fence > at_kill.fence",
		1, TEST_DEADLINE_MS);
	assert_int_equal(
		test_database_ask(
			f->db,
			"SELECT count(*) FROM at_kill WHERE lock_until <= clock_timestamp()"),
		1);
	test_database_await(f->db, "SELECT count(*) FROM link_tombstones", 20000, DEADLINE_MS);
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM links"), 0);
	/* Each link was expired once and purged once, by either janitor. */
	assert_int_equal(test_database_ask(f->db, "SELECT count(*) FROM outbox"), 40000);
	assert_int_equal(
		test_database_ask(f->db, "SELECT count(*) FROM link_tombstones WHERE version <> 3"),
		0);
	assert_int_equal(stop(second, SIGTERM), 0);
}

TEST_CASE(releases_its_lock_at_once_on_shutdown)
{
	struct fixture *f = *state;
	/* It has work for eight seconds, and is asked to end before. */
	const char *const settings[] = { "EXPIRY_FIRST_DELAY_S=0", "EXPIRY_LINKS_PER_S=2500",
		                         NULL };
	add_due_links(f, "20000");
	pid_t pid = start(f, NULL, settings);
	test_database_await(
		f->db,
		"SELECT CASE WHEN count(*) > 0 THEN 1 ELSE 0 END FROM links WHERE state = 'EXPIRED'",
		1, TEST_DEADLINE_MS);
	assert_int_equal(stop(pid, SIGTERM), 0);
	int64_t expired = test_database_ask(f->db, count_expired);
	assert_in_range(expired, 100, 19900); /* complete batches of 100 to 1,000 */
	assert_int_equal(
		test_database_ask(f->db,
	                          "SELECT count(*) FROM shedlock WHERE name = 'waymark-expiry' "
	                          "AND lock_until > clock_timestamp()"),
		0);
}

TEST_CASE(keeps_its_lock_for_a_while_after_a_complete_run)
{
	struct fixture *f = *state;
	const char *const settings[] = { "EXPIRY_FIRST_DELAY_S=0", NULL };
	add_due_links(f, "10");
	static const char stays[] =
		"SELECT count(*) FROM shedlock WHERE name = 'waymark-expiry' AND "
		"lock_until BETWEEN locked_at + interval '599 s' AND locked_at + interval '601 s'";
	pid_t pid = start(f, NULL, settings);
	test_database_await(f->db, stays, 1, TEST_DEADLINE_MS);
	assert_int_equal(test_database_ask(f->db, count_expired), 10);
	assert_int_equal(stop(pid, SIGTERM), 0);
	assert_int_equal(test_database_ask(f->db, stays), 1);
}

TEST_MAIN(.set_up = set_up, .tear_down = tear_down)
