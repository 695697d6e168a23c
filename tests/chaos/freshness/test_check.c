#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/base/mem.h"
#include "tests/chaos/freshness/history.h"
#include "tests/support/test.h"
#include "tests/support/test_folder.h"

#define MS INT64_C(1000)
#define PATH_SIZE (TEST_FOLDER_SIZE + 16)

/*
 * The checker as the harness runs it, on a history written by hand: link 3 is made in the first
 * second and edited in the sixth.
 */
struct fixture {
	char folder[TEST_FOLDER_SIZE];
	struct history_log *changes;
	struct history_log *reads;
	char report[8192];
};

static struct history_log *open_log(const struct fixture *fixture, const char *name,
                                    enum history_kind kind)
{
	char path[PATH_SIZE];
	snprintf(path, sizeof(path), "%s/%s", fixture->folder, name);
	struct history_log *log = history_log_new(path, kind);
	assert_non_null(log);
	return log;
}

static void change(struct fixture *fixture, enum history_act act, int64_t begin_ms,
                   uint32_t destination)
{
	history_log_change(fixture->changes,
	                   &(struct history_change){ .begin_us = begin_ms * MS,
	                                             .end_us = (begin_ms + 10) * MS,
	                                             .link = 3,
	                                             .destination = destination,
	                                             .act = (uint8_t)act,
	                                             .outcome = HISTORY_ACKED,
	                                             .slug = "hand-3" });
}

static void read_at(struct fixture *fixture, int64_t begin_ms, uint16_t status,
                    uint32_t destination)
{
	history_log_read(fixture->reads, &(struct history_read){ .begin_us = begin_ms * MS,
	                                                         .lasted_us = 1000,
	                                                         .link = 3,
	                                                         .destination = destination,
	                                                         .status = status,
	                                                         .redirector = 2 });
}

static int setup(void **state)
{
	struct fixture *fixture = mem_zero(sizeof(*fixture));
	test_folder_make(fixture->folder);
	fixture->changes = open_log(fixture, "changes-1", HISTORY_CHANGES);
	fixture->reads = open_log(fixture, "reads-1", HISTORY_READS);
	change(fixture, HISTORY_CREATE, 500, 1);
	change(fixture, HISTORY_EDIT, 5000, 2);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	test_folder_remove(fixture->folder);
	free(fixture);
	return 0;
}

static void close_logs(struct fixture *fixture)
{
	history_log_free(fixture->changes);
	history_log_free(fixture->reads);
}

/* Returns the checker's exit status; report holds its output. */
static int check(struct fixture *fixture, const char *faults)
{
	char command[512], path[PATH_SIZE];
	snprintf(path, sizeof(path), "%s/faults", fixture->folder);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(faults, file);
	assert_int_equal(fclose(file), 0);
	snprintf(command, sizeof(command), "%s/tests/chaos/freshness/check_freshness %s %s 2>&1",
	         getenv("WAYMARK_BUILD_DIR"), fixture->folder, path);
	FILE *output = popen(command, "r"); // NOLINT(cert-env33-c): the paths are the test's own
	assert_non_null(output);
	size_t got = fread(fixture->report, 1, sizeof(fixture->report) - 1, output);
	fixture->report[got] = '\0';
	int status = pclose(output);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void expect(const struct fixture *fixture, const char *words)
{
	if (!strstr(fixture->report, words))
		fail_msg("not in the report: %s\n%s", words, fixture->report);
}

TEST_CASE(a_good_history_passes)
{
	struct fixture *fixture = *state;
	read_at(fixture, 400, 404, 0);
	read_at(fixture, 600, 302, 1);
	read_at(fixture, 5900, 302, 1);
	close_logs(fixture);
	assert_int_equal(check(fixture, "fault calm 0 9000000\n"), 0);
	expect(fixture, "fault=calm operations=5 reads=3 changes=2 unknown=0 violations=0");
	expect(fixture, "worst_ms=890.0");
}

TEST_CASE(a_stale_read_is_shown_with_the_history_of_its_link)
{
	struct fixture *fixture = *state;
	read_at(fixture, 6200, 302, 1);
	close_logs(fixture);
	assert_int_equal(check(fixture, "fault calm 0 4000000\nfault storm 4000000 9000000\n"), 1);
	expect(fixture, "violation 1 during storm: stale: link 3 (hand-3)");
	expect(fixture, "redirector 2: 302 to destination 1");
	expect(fixture, "-1200.0 …    -1190.0 ms  edit destination 2: acknowledged");
	expect(fixture, "fault=calm operations=1 reads=0 changes=1 unknown=0 violations=0");
	expect(fixture,
	       "fault=storm operations=2 reads=1 changes=1 unknown=0 violations=1 stale=1");
}

TEST_CASE(only_while_kafka_was_away_a_change_may_take_five_seconds)
{
	struct fixture *fixture = *state;
	read_at(fixture, 9000, 302, 1);
	close_logs(fixture);
	assert_int_equal(check(fixture, "fault calm 0 9000000\nkafka-away 1000000 4000000\n"), 0);
	assert_int_equal(check(fixture, "fault calm 0 9000000\nkafka-away 1000000 3999000\n"), 1);
}

TEST_CASE(only_while_stores_were_away_503_is_allowed)
{
	struct fixture *fixture = *state;
	read_at(fixture, 7000, 503, 0);
	close_logs(fixture);
	assert_int_equal(check(fixture, "fault calm 0 9000000\nstores-away 6000000 7000500\n"), 0);
	expect(fixture, "unavailable=1");
	assert_int_equal(check(fixture, "fault calm 0 9000000\nstores-away 6000000 6999999\n"), 1);
	expect(fixture, "violations=1");
}

TEST_CASE(once_all_is_settled_only_the_newest_version_is_right)
{
	struct fixture *fixture = *state;
	read_at(fixture, 5500, 302, 1);
	close_logs(fixture);
	assert_int_equal(check(fixture, "fault calm 0 9000000\nsettled 5600000 6000000\n"), 0);
	assert_int_equal(check(fixture, "fault calm 0 9000000\nsettled 5400000 6000000\n"), 1);
	expect(fixture, "stale=1");
}

TEST_CASE(a_busy_machine_may_take_its_factor_longer)
{
	struct fixture *fixture = *state;
	read_at(fixture, 8000, 302, 1);
	close_logs(fixture);
	assert_int_equal(check(fixture, "fault calm 0 9000000\nbound-factor 2\n"), 1);
	assert_int_equal(check(fixture, "fault calm 0 9000000\nbound-factor 3\n"), 0);
	assert_int_equal(check(fixture, "fault calm 0 9000000\nbound-factor 0\n"), 2);
}

TEST_CASE(faults_of_one_name_are_summed_up_together)
{
	struct fixture *fixture = *state;
	read_at(fixture, 1000, 302, 1);
	read_at(fixture, 3000, 302, 1);
	read_at(fixture, 7000, 302, 2);
	close_logs(fixture);
	assert_int_equal(
		check(fixture,
	              "fault a 0 2000000\nfault b 2000000 5000000\nfault a 5000000 8000000\n"),
		0);
	expect(fixture, "fault=a operations=4 reads=2");
	expect(fixture, "fault=b operations=1 reads=1");
	expect(fixture, "fault=all operations=5 reads=3");
}

TEST_CASE(a_history_that_ends_within_a_record_is_refused)
{
	struct fixture *fixture = *state;
	char path[PATH_SIZE];
	close_logs(fixture);
	snprintf(path, sizeof(path), "%s/reads-1", fixture->folder);
	FILE *file = fopen(path, "ab");
	assert_non_null(file);
	fputs("torn", file);
	fclose(file);
	assert_int_equal(check(fixture, "fault calm 0 9000000\n"), 2);
	expect(fixture, "ends within a record");
}

TEST_CASE(unknown_faults_are_refused)
{
	struct fixture *fixture = *state;
	close_logs(fixture);
	assert_int_equal(check(fixture, "fault calm 0 9000000\nkafka-gone 1 2\n"), 2);
	assert_int_equal(check(fixture, ""), 2);
	assert_int_equal(check(fixture, "fault backwards 2 1\n"), 2);
}

TEST_MAIN(.set_up = setup, .tear_down = teardown)
