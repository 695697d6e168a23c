#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/base/mem.h"
#include "tests/chaos/freshness/history.h"
#include "tests/support/test_folder.h"

#define MS INT64_C(1000)
#define PATH_SIZE (TEST_FOLDER_SIZE + 16)

/*
 * The checker as the harness runs it, on a history written by hand: link 3 is made in the first second and edited in the
 * sixth.
 */
struct desk {
	char folder[TEST_FOLDER_SIZE];
	struct history_log *changes;
	struct history_log *reads;
	char report[8192];
};

static struct history_log *open_log(const struct desk *desk, const char *name, enum history_kind kind)
{
	char path[PATH_SIZE];
	snprintf(path, sizeof(path), "%s/%s", desk->folder, name);
	struct history_log *log = history_log_new(path, kind);
	assert_non_null(log);
	return log;
}

static void change(struct desk *desk, enum history_act act, int64_t begin_ms, uint32_t destination)
{
	history_log_change(desk->changes, &(struct history_change){ .begin_us = begin_ms * MS,
	                                                            .end_us = (begin_ms + 10) * MS,
	                                                            .link = 3,
	                                                            .destination = destination,
	                                                            .act = (uint8_t)act,
	                                                            .outcome = HISTORY_ACKED,
	                                                            .slug = "hand-3" });
}

static void read_at(struct desk *desk, int64_t begin_ms, uint16_t status, uint32_t destination)
{
	history_log_read(desk->reads, &(struct history_read){ .begin_us = begin_ms * MS,
	                                                      .lasted_us = 1000,
	                                                      .link = 3,
	                                                      .destination = destination,
	                                                      .status = status,
	                                                      .redirector = 2 });
}

static int setup(void **state)
{
	struct desk *desk = mem_zero(sizeof(*desk));
	test_folder_make(desk->folder);
	desk->changes = open_log(desk, "changes-1", HISTORY_CHANGES);
	desk->reads = open_log(desk, "reads-1", HISTORY_READS);
	change(desk, HISTORY_CREATE, 500, 1);
	change(desk, HISTORY_EDIT, 5000, 2);
	*state = desk;
	return 0;
}

static int teardown(void **state)
{
	struct desk *desk = *state;
	test_folder_remove(desk->folder);
	free(desk);
	return 0;
}

static void close_logs(struct desk *desk)
{
	history_log_free(desk->changes);
	history_log_free(desk->reads);
}

/* The checker's exit status; report is what it printed. */
static int check(struct desk *desk, const char *faults)
{
	char command[512], path[PATH_SIZE];
	snprintf(path, sizeof(path), "%s/faults", desk->folder);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(faults, file);
	assert_int_equal(fclose(file), 0);
	snprintf(command, sizeof(command), "%s/tests/chaos/freshness/check_freshness %s %s 2>&1",
	         getenv("WAYMARK_BUILD_DIR"), desk->folder, path);
	FILE *output = popen(command, "r"); // NOLINT(cert-env33-c): paths of the test's own
	assert_non_null(output);
	size_t got = fread(desk->report, 1, sizeof(desk->report) - 1, output);
	desk->report[got] = '\0';
	int status = pclose(output);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void expect(const struct desk *desk, const char *words)
{
	if (!strstr(desk->report, words))
		fail_msg("not in the report: %s\n%s", words, desk->report);
}

static void a_good_history_passes(void **state)
{
	struct desk *desk = *state;
	read_at(desk, 400, 404, 0);
	read_at(desk, 600, 302, 1);
	read_at(desk, 5900, 302, 1);
	close_logs(desk);
	assert_int_equal(check(desk, "fault calm 0 9000000\n"), 0);
	expect(desk, "fault=calm operations=5 reads=3 changes=2 unknown=0 violations=0");
	expect(desk, "worst_ms=890.0");
}

static void a_stale_read_is_shown_with_the_history_of_its_link(void **state)
{
	struct desk *desk = *state;
	read_at(desk, 6200, 302, 1);
	close_logs(desk);
	assert_int_equal(check(desk, "fault calm 0 4000000\nfault storm 4000000 9000000\n"), 1);
	expect(desk, "violation 1 during storm: stale: link 3 (hand-3)");
	expect(desk, "redirector 2: 302 to destination 1");
	expect(desk, "-1200.0 …    -1190.0 ms  edit destination 2: acknowledged");
	expect(desk, "fault=calm operations=1 reads=0 changes=1 unknown=0 violations=0");
	expect(desk, "fault=storm operations=2 reads=1 changes=1 unknown=0 violations=1 stale=1");
}

static void only_while_kafka_was_away_a_change_may_take_five_seconds(void **state)
{
	struct desk *desk = *state;
	read_at(desk, 9000, 302, 1);
	close_logs(desk);
	assert_int_equal(check(desk, "fault calm 0 9000000\nkafka-away 1000000 4000000\n"), 0);
	assert_int_equal(check(desk, "fault calm 0 9000000\nkafka-away 1000000 3999000\n"), 1);
}

static void only_while_stores_were_away_503_is_right(void **state)
{
	struct desk *desk = *state;
	read_at(desk, 7000, 503, 0);
	close_logs(desk);
	assert_int_equal(check(desk, "fault calm 0 9000000\nstores-away 6000000 7000500\n"), 0);
	expect(desk, "unavailable=1");
	assert_int_equal(check(desk, "fault calm 0 9000000\nstores-away 6000000 6999999\n"), 1);
	expect(desk, "violations=1");
}

static void once_all_is_settled_only_the_newest_version_is_right(void **state)
{
	struct desk *desk = *state;
	read_at(desk, 5500, 302, 1);
	close_logs(desk);
	assert_int_equal(check(desk, "fault calm 0 9000000\nsettled 5600000 6000000\n"), 0);
	assert_int_equal(check(desk, "fault calm 0 9000000\nsettled 5400000 6000000\n"), 1);
	expect(desk, "stale=1");
}

static void a_busy_machine_may_take_its_factor_longer(void **state)
{
	struct desk *desk = *state;
	read_at(desk, 8000, 302, 1);
	close_logs(desk);
	assert_int_equal(check(desk, "fault calm 0 9000000\nbound-factor 2\n"), 1);
	assert_int_equal(check(desk, "fault calm 0 9000000\nbound-factor 3\n"), 0);
	assert_int_equal(check(desk, "fault calm 0 9000000\nbound-factor 0\n"), 2);
}

static void faults_of_one_name_are_summed_up_together(void **state)
{
	struct desk *desk = *state;
	read_at(desk, 1000, 302, 1);
	read_at(desk, 3000, 302, 1);
	read_at(desk, 7000, 302, 2);
	close_logs(desk);
	assert_int_equal(check(desk, "fault a 0 2000000\nfault b 2000000 5000000\nfault a 5000000 8000000\n"), 0);
	expect(desk, "fault=a operations=4 reads=2");
	expect(desk, "fault=b operations=1 reads=1");
	expect(desk, "fault=all operations=5 reads=3");
}

static void a_history_that_ends_within_a_record_is_refused(void **state)
{
	struct desk *desk = *state;
	char path[PATH_SIZE];
	close_logs(desk);
	snprintf(path, sizeof(path), "%s/reads-1", desk->folder);
	FILE *file = fopen(path, "ab");
	assert_non_null(file);
	fputs("torn", file);
	fclose(file);
	assert_int_equal(check(desk, "fault calm 0 9000000\n"), 2);
	expect(desk, "ends within a record");
}

static void faults_that_nobody_understands_are_refused(void **state)
{
	struct desk *desk = *state;
	close_logs(desk);
	assert_int_equal(check(desk, "fault calm 0 9000000\nkafka-gone 1 2\n"), 2);
	assert_int_equal(check(desk, ""), 2);
	assert_int_equal(check(desk, "fault backwards 2 1\n"), 2);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_good_history_passes),
		TEST(a_stale_read_is_shown_with_the_history_of_its_link),
		TEST(only_while_kafka_was_away_a_change_may_take_five_seconds),
		TEST(only_while_stores_were_away_503_is_right),
		TEST(once_all_is_settled_only_the_newest_version_is_right),
		TEST(a_busy_machine_may_take_its_factor_longer),
		TEST(faults_of_one_name_are_summed_up_together),
		TEST(a_history_that_ends_within_a_record_is_refused),
		TEST(faults_that_nobody_understands_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
