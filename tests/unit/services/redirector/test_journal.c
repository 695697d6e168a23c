#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "services/redirector/journal.h"
#include "services/redirector/journal_segment.h"
#include "tests/support/test_folder.h"

#define SEGMENT_BYTES (64 * 1024)

struct fixture {
	char dir[TEST_FOLDER_SIZE];
	struct clock_fake clock;
	struct journal_config config;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	test_folder_make(f->dir);
	clock_fake_init(&f->clock, 0);
	f->config = (struct journal_config){ .dir = f->dir,
		                             .segment_bytes = SEGMENT_BYTES,
		                             .bytes_max = 8 * SEGMENT_BYTES,
		                             .in_flight_max = 100000,
		                             .clock = &f->clock.clock };
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	test_folder_remove(f->dir);
	free(f);
	return 0;
}

static void append_numbers(struct journal *j, uint64_t first, uint64_t last)
{
	for (uint64_t n = first; n <= last; n++) {
		char text[300];
		int len = snprintf(text, sizeof text, "%llu %*s", (unsigned long long)n, (int)(n % 200), "");
		assert_int_equal(OK, journal_append(j, text, (size_t)len));
	}
}

/* Reads numbers first..last in order; acks them if asked to. */
static void expect_numbers(struct journal *j, uint64_t first, uint64_t last, bool ack)
{
	for (uint64_t n = first; n <= last; n++) {
		struct journal_record record;
		assert_true(journal_next(j, &record));
		assert_int_equal(n, strtoull(record.bytes, NULL, 10));
		if (ack)
			journal_ack(j, record.ack_id);
	}
}

static void expect_nothing(struct journal *j)
{
	struct journal_record record;
	assert_false(journal_next(j, &record));
}

static void gives_records_back_in_order_across_segments(void **state)
{
	struct fixture *f = *state;
	struct journal *j = journal_new(&f->config);
	append_numbers(j, 1, 1500);
	expect_numbers(j, 1, 1500, true);
	expect_nothing(j);
	journal_maintain(j);
	assert_true(journal_count(j).bytes <= 2 * SEGMENT_BYTES);
	journal_free(j);
}

static void a_process_that_follows_ships_what_was_not_acked(void **state)
{
	struct fixture *f = *state;
	struct journal *j = journal_new(&f->config);
	append_numbers(j, 1, 1000);
	expect_numbers(j, 1, 600, true);
	expect_numbers(j, 601, 700, false);
	journal_free(j);
	j = journal_new(&f->config);
	assert_int_equal(400, journal_count(j).appended);
	append_numbers(j, 1001, 1100);
	expect_numbers(j, 601, 1100, true);
	expect_nothing(j);
	journal_free(j);
	j = journal_new(&f->config);
	expect_nothing(j);
	assert_int_equal(0, journal_count(j).appended);
	journal_free(j);
}

static void nothing_before_an_unacked_record_is_forgotten(void **state)
{
	struct fixture *f = *state;
	struct journal *j = journal_new(&f->config);
	append_numbers(j, 1, 10);
	for (uint64_t n = 1; n <= 10; n++) {
		struct journal_record record;
		assert_true(journal_next(j, &record));
		if (n != 4)
			journal_ack(j, record.ack_id);
	}
	journal_maintain(j);
	journal_free(j);
	j = journal_new(&f->config);
	expect_numbers(j, 4, 10, true);
	journal_free(j);
}

static void survives_kill_9_with_every_record_that_append_said_ok_to(void **state)
{
	struct fixture *f = *state;
	_Atomic uint64_t *told = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t next = 1;
	for (int round = 0; round < 20; round++) {
		pid_t child = fork();
		if (child == 0) {
			struct journal *j = journal_new(&f->config);
			for (uint64_t n = next;; n++) {
				char text[32];
				int len = snprintf(text, sizeof text, "%llu", (unsigned long long)n);
				if (journal_append(j, text, (size_t)len) == OK)
					atomic_store(told, n);
				else
					pause();
			}
		}
		while (atomic_load(told) < next + 500)
			sched_yield();
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		struct journal *j = journal_new(&f->config);
		expect_numbers(j, next, atomic_load(told), true);
		/* One more may have been written whole before its writer could say so. */
		struct journal_record record;
		next = atomic_load(told) + 1;
		if (journal_next(j, &record)) {
			assert_int_equal(next, strtoull(record.bytes, NULL, 10));
			journal_ack(j, record.ack_id);
			next++;
		}
		expect_nothing(j);
		journal_free(j);
	}
	munmap((void *)told, 4096);
}

/* How many numbers the shipper below leaves unacked. */
#define KEPT_BACK 10

/* Appends n, and ships as it goes on, so that segments are done with and used again. */
/* 40 processes, each killed after 20 records: their segments would be five times bytes_max. */
static void a_row_of_killed_processes_leaves_room_for_the_next(void **state)
{
	struct fixture *f = *state;
	for (uint64_t process = 0; process < 40; process++) {
		struct journal *j = journal_new(&f->config);
		append_numbers(j, process * 20 + 1, process * 20 + 20);
		journal_free(j);
	}
	struct journal *j = journal_new(&f->config);
	assert_int_equal(800, journal_count(j).appended);
	expect_numbers(j, 1, 800, true);
	expect_nothing(j);
	journal_maintain(j);
	assert_true(journal_count(j).bytes <= 2 * SEGMENT_BYTES);
	journal_free(j);
}

static void append_and_ship(struct journal *j, uint64_t n)
{
	char text[200] = { 0 };
	struct journal_record record;
	snprintf(text, sizeof text, "%llu", (unsigned long long)n);
	/* Lengths vary, so that records of a segment's second use begin within records of its first. */
	assert_int_equal(OK, journal_append(j, text, 24 + n * 7 % 170));
	assert_true(journal_next(j, &record));
	assert_int_equal(n, strtoull(record.bytes, NULL, 10));
	if (record.ack_id >= KEPT_BACK)
		journal_ack(j, record.ack_id - KEPT_BACK);
	journal_maintain(j);
}

static void a_segment_that_is_used_again_shows_nothing_of_its_earlier_use(void **state)
{
	struct fixture *f = *state;
	struct journal *j = journal_new(&f->config);
	for (uint64_t n = 1; n <= 20000; n++)
		append_and_ship(j, n);
	assert_true(journal_count(j).bytes <= 4 * SEGMENT_BYTES);
	journal_free(j);
	j = journal_new(&f->config);
	expect_numbers(j, 20001 - KEPT_BACK, 20000, true);
	expect_nothing(j);
	journal_free(j);
}

static void survives_kill_9_while_segments_are_used_again(void **state)
{
	struct fixture *f = *state;
	_Atomic uint64_t *told = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (uint64_t round = 1; round <= 20; round++) {
		atomic_store(told, 0);
		pid_t child = fork();
		if (child == 0) {
			struct journal *j = journal_new(&f->config);
			for (uint64_t n = 1;; n++) {
				append_and_ship(j, n);
				atomic_store(told, n);
			}
		}
		while (atomic_load(told) < 3000 + 97 * round)
			sched_yield();
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		struct journal *j = journal_new(&f->config);
		struct journal_record record;
		uint64_t last = 0;
		while (journal_next(j, &record)) {
			uint64_t n = strtoull(record.bytes, NULL, 10);
			assert_true(last == 0 ? n + KEPT_BACK + 2 >= atomic_load(told) : n == last + 1);
			journal_ack(j, record.ack_id);
			last = n;
		}
		assert_in_range(last, atomic_load(told), atomic_load(told) + 1);
		journal_free(j);
	}
	munmap((void *)told, 4096);
}

static void overwrite(const char *dir, const char *name, off_t offset, const void *bytes, size_t len)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	int fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(len, pwrite(fd, bytes, len, offset));
	close(fd);
}

static void a_torn_tail_ends_its_segment_and_nothing_else(void **state)
{
	struct fixture *f = *state;
	struct journal *j = journal_new(&f->config);
	append_numbers(j, 1, 3);
	journal_free(j);
	/* The third record's payload: 1 and 2 take 16 bytes of head each and 8 of payload. */
	overwrite(f->dir, "00000000000000000001.seg", JOURNAL_SEGMENT_HEADER_BYTES + 24 + 24 + 16, "X", 1);
	j = journal_new(&f->config);
	append_numbers(j, 4, 5);
	expect_numbers(j, 1, 2, true);
	expect_numbers(j, 4, 5, true);
	expect_nothing(j);
	journal_free(j);
}

static void a_file_that_is_no_segment_is_left_alone(void **state)
{
	struct fixture *f = *state;
	char path[256];
	snprintf(path, sizeof path, "%s/00000000000000000007.seg", f->dir);
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	assert_int_equal(5, write(fd, "hello", 5));
	close(fd);
	struct journal *j = journal_new(&f->config);
	append_numbers(j, 1, 2);
	expect_numbers(j, 1, 2, true);
	journal_free(j);
	assert_int_equal(0, access(path, F_OK));
}

static void refuses_beyond_bytes_max_and_goes_on_as_soon_as_acks_made_room(void **state)
{
	struct fixture *f = *state;
	struct journal *j = journal_new(&f->config);
	uint64_t accepted = 0;
	char text[200] = "0";
	for (; journal_append(j, text, sizeof text) == OK;
	     snprintf(text, sizeof text, "%llu", (unsigned long long)++accepted))
		journal_maintain(j);
	assert_in_range(accepted, 8 * SEGMENT_BYTES / 216 - 20, 8 * SEGMENT_BYTES / 216);
	assert_false(journal_accepts_appends(j));
	assert_true(journal_is_healthy(j));
	assert_true(journal_count(j).bytes <= f->config.bytes_max);
	for (uint64_t n = 0; n < accepted; n++) {
		struct journal_record record;
		assert_true(journal_next(j, &record));
		journal_ack(j, record.ack_id);
	}
	journal_maintain(j);
	assert_true(journal_accepts_appends(j));
	assert_int_equal(OK, journal_append(j, text, sizeof text));
	journal_free(j);
}

static void at_most_in_flight_max_records_wait_for_acks(void **state)
{
	struct fixture *f = *state;
	struct journal_record record;
	f->config.in_flight_max = 3;
	struct journal *j = journal_new(&f->config);
	append_numbers(j, 1, 5);
	expect_numbers(j, 1, 3, false);
	expect_nothing(j);
	journal_ack(j, 1);
	journal_maintain(j);
	expect_nothing(j);
	journal_ack(j, 0);
	journal_maintain(j);
	assert_true(journal_next(j, &record));
	assert_int_equal(4, strtoull(record.bytes, NULL, 10));
	journal_free(j);
}

static void a_folder_that_cannot_be_used_refuses_appends_and_heals(void **state)
{
	struct fixture *f = *state;
	char dir[128], blocker[96];
	snprintf(blocker, sizeof blocker, "%s/late", f->dir);
	snprintf(dir, sizeof dir, "%s/journal", blocker);
	f->config.dir = dir;
	struct journal *j = journal_new(&f->config);
	assert_false(journal_accepts_appends(j));
	assert_false(journal_is_healthy(j));
	assert_int_equal(ERR_LIMIT, journal_append(j, "x", 1));
	assert_int_equal(0, mkdir(blocker, 0700));
	clock_fake_advance(&f->clock, 2 * CLOCK_US_PER_S);
	journal_maintain(j);
	assert_true(journal_accepts_appends(j));
	append_numbers(j, 1, 1);
	expect_numbers(j, 1, 1, true);
	journal_free(j);
}

static void a_folder_that_another_journal_has_is_not_touched(void **state)
{
	struct fixture *f = *state;
	struct journal *first = journal_new(&f->config);
	append_numbers(first, 1, 5);
	struct journal *second = journal_new(&f->config);
	assert_false(journal_accepts_appends(second));
	expect_nothing(second);
	expect_numbers(first, 1, 5, true);
	journal_free(second);
	journal_free(first);
}

static void *append_many(void *arg)
{
	struct journal *j = arg;
	for (uint64_t n = 1; n <= 200000;) {
		char text[32];
		int len = snprintf(text, sizeof text, "%llu", (unsigned long long)n);
		if (journal_append(j, text, (size_t)len) == OK)
			n++;
		else
			sched_yield();
	}
	return NULL;
}

static void an_appender_and_a_shipper_need_no_lock_between_them(void **state)
{
	struct fixture *f = *state;
	struct journal *j = journal_new(&f->config);
	pthread_t appender;
	assert_int_equal(0, pthread_create(&appender, NULL, append_many, j));
	for (uint64_t n = 1; n <= 200000;) {
		struct journal_record record;
		if (!journal_next(j, &record)) {
			clock_fake_advance(&f->clock, 2 * CLOCK_US_PER_S);
			journal_maintain(j);
			continue;
		}
		assert_int_equal(n++, strtoull(record.bytes, NULL, 10));
		journal_ack(j, record.ack_id);
	}
	pthread_join(appender, NULL);
	struct journal_counts counts = journal_count(j);
	assert_int_equal(200000, counts.appended);
	assert_int_equal(200000, counts.acked);
	journal_free(j);
}

/* JOURNAL_TEST_BYTES=4831838208, more than 32 bits count, is the long form: it takes so much disk and page cache. */
static uint64_t bytes_of_an_outage(void)
{
	const char *text = getenv("JOURNAL_TEST_BYTES");
	return text ? strtoull(text, NULL, 10) : (uint64_t)4 * 1024 * 1024;
}

static void holds_what_a_long_outage_leaves(void **state)
{
	struct fixture *f = *state;
	static const char filler[60000];
	const uint64_t bytes = bytes_of_an_outage(), records = bytes / sizeof(filler);
	f->config.segment_bytes = (size_t)8 * 1024 * 1024;
	f->config.bytes_max = bytes + 4 * f->config.segment_bytes;
	struct journal *j = journal_new(&f->config);
	for (uint64_t n = 1; n <= records; n++) {
		char record[sizeof(filler)];
		memcpy(record, filler, sizeof(filler));
		snprintf(record, sizeof(record), "%llu", (unsigned long long)n);
		assert_int_equal(OK, journal_append(j, record, sizeof(record)));
	}
	assert_true(journal_count(j).bytes >= records * sizeof(filler));
	journal_free(j);
	j = journal_new(&f->config);
	assert_int_equal(records, journal_count(j).appended);
	expect_numbers(j, 1, records, true);
	expect_nothing(j);
	journal_free(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(gives_records_back_in_order_across_segments, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_process_that_follows_ships_what_was_not_acked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_before_an_unacked_record_is_forgotten, set_up, tear_down),
		cmocka_unit_test_setup_teardown(survives_kill_9_with_every_record_that_append_said_ok_to, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(a_row_of_killed_processes_leaves_room_for_the_next, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_segment_that_is_used_again_shows_nothing_of_its_earlier_use, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(survives_kill_9_while_segments_are_used_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_torn_tail_ends_its_segment_and_nothing_else, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_is_no_segment_is_left_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refuses_beyond_bytes_max_and_goes_on_as_soon_as_acks_made_room, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(at_most_in_flight_max_records_wait_for_acks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_folder_that_cannot_be_used_refuses_appends_and_heals, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(a_folder_that_another_journal_has_is_not_touched, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_appender_and_a_shipper_need_no_lock_between_them, set_up, tear_down),
		cmocka_unit_test_setup_teardown(holds_what_a_long_outage_leaves, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
