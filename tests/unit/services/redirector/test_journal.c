#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "services/redirector/journal/journal.h"
#include "services/redirector/journal/journal_segment.h"
#include "tests/support/clock_fake.h"
#include "tests/support/test.h"
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
		int len = snprintf(text, sizeof text, "%llu %*s", (unsigned long long)n,
		                   (int)(n % 200), "");
		assert_int_equal(OK, journal_append(j, text, (size_t)len));
	}
}

/* Expects numbers first..last in order and acks them if ack is set. */
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

TEST_CASE(returns_records_in_order_across_segments)
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

TEST_CASE(the_next_process_ships_unacked_records)
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

TEST_CASE(an_unacked_record_keeps_all_later_ones)
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

TEST_CASE(every_appended_record_survives_kill_9)
{
	struct fixture *f = *state;
	_Atomic uint64_t *reported =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t next = 1;
	for (int round = 0; round < 20; round++) {
		pid_t child = fork();
		if (child == 0) {
			struct journal *j = journal_new(&f->config);
			for (uint64_t n = next;; n++) {
				char text[32];
				int len =
					snprintf(text, sizeof text, "%llu", (unsigned long long)n);
				if (journal_append(j, text, (size_t)len) == OK)
					atomic_store(reported, n);
				else
					pause();
			}
		}
		while (atomic_load(reported) < next + 500)
			sched_yield();
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		struct journal *j = journal_new(&f->config);
		expect_numbers(j, next, atomic_load(reported), true);
		/* One more may have been written completely before its writer reported it. */
		struct journal_record record;
		next = atomic_load(reported) + 1;
		if (journal_next(j, &record)) {
			assert_int_equal(next, strtoull(record.bytes, NULL, 10));
			journal_ack(j, record.ack_id);
			next++;
		}
		expect_nothing(j);
		journal_free(j);
	}
	munmap((void *)reported, 4096);
}

/* Records that append_and_ship leaves unacked. */
#define UNACKED 10

/* 40 processes, each killed after 20 records: full segments would take five times bytes_max. */
TEST_CASE(killed_processes_leave_room_for_the_next_one)
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

/* Appends and ships as it goes, so that segments are released and reused. */
static void append_and_ship(struct journal *j, uint64_t n)
{
	char text[200] = { 0 };
	struct journal_record record;
	snprintf(text, sizeof text, "%llu", (unsigned long long)n);
	/* Lengths vary, so records of a segment's second use start in the middle of old ones. */
	assert_int_equal(OK, journal_append(j, text, 24 + n * 7 % 170));
	assert_true(journal_next(j, &record));
	assert_int_equal(n, strtoull(record.bytes, NULL, 10));
	if (record.ack_id >= UNACKED)
		journal_ack(j, record.ack_id - UNACKED);
	journal_maintain(j);
}

TEST_CASE(a_reused_segment_shows_no_old_records)
{
	struct fixture *f = *state;
	struct journal *j = journal_new(&f->config);
	for (uint64_t n = 1; n <= 20000; n++)
		append_and_ship(j, n);
	assert_true(journal_count(j).bytes <= 4 * SEGMENT_BYTES);
	journal_free(j);
	j = journal_new(&f->config);
	expect_numbers(j, 20001 - UNACKED, 20000, true);
	expect_nothing(j);
	journal_free(j);
}

TEST_CASE(survives_kill_9_while_segments_are_reused)
{
	struct fixture *f = *state;
	_Atomic uint64_t *reported =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (uint64_t round = 1; round <= 20; round++) {
		atomic_store(reported, 0);
		pid_t child = fork();
		if (child == 0) {
			struct journal *j = journal_new(&f->config);
			for (uint64_t n = 1;; n++) {
				append_and_ship(j, n);
				atomic_store(reported, n);
			}
		}
		while (atomic_load(reported) < 3000 + 97 * round)
			sched_yield();
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		struct journal *j = journal_new(&f->config);
		struct journal_record record;
		uint64_t last = 0;
		while (journal_next(j, &record)) {
			uint64_t n = strtoull(record.bytes, NULL, 10);
			assert_true(last == 0 ? n + UNACKED + 2 >= atomic_load(reported)
			                      : n == last + 1);
			journal_ack(j, record.ack_id);
			last = n;
		}
		assert_in_range(last, atomic_load(reported), atomic_load(reported) + 1);
		journal_free(j);
	}
	munmap((void *)reported, 4096);
}

static void overwrite(const char *dir, const char *name, off_t offset, const void *bytes,
                      size_t len)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	int fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(len, pwrite(fd, bytes, len, offset));
	close(fd);
}

TEST_CASE(a_torn_tail_ends_only_its_segment)
{
	struct fixture *f = *state;
	struct journal *j = journal_new(&f->config);
	append_numbers(j, 1, 3);
	journal_free(j);
	/* The payload of the third record, after two of 16 bytes of head and 8 of payload. */
	overwrite(f->dir, "00000000000000000001.seg", JOURNAL_SEGMENT_HEADER_BYTES + 24 + 24 + 16,
	          "X", 1);
	j = journal_new(&f->config);
	append_numbers(j, 4, 5);
	expect_numbers(j, 1, 2, true);
	expect_numbers(j, 4, 5, true);
	expect_nothing(j);
	journal_free(j);
}

/* A file that a power cut has caught before its first sync is as long as a segment and holds zeros. */
TEST_CASE(an_invalid_segment_file_is_left_in_place_unless_it_is_empty)
{
	struct fixture *f = *state;
	static const struct {
		const char *text;
		off_t size;
		bool is_left;
	} files[] = {
		{ "hello", 5, true }, { "hello", 4096, true }, { "", 4096, false }, { "", 0, false }
	};
	char path[256];
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof path, "%s/00000000000000000007.seg", f->dir);
		int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
		size_t len = strlen(files[i].text);
		assert_int_equal(len, write(fd, files[i].text, len));
		assert_int_equal(0, ftruncate(fd, files[i].size));
		close(fd);
		struct journal *j = journal_new(&f->config);
		append_numbers(j, 1, 2);
		expect_numbers(j, 1, 2, true);
		journal_free(j);
		assert_int_equal(files[i].is_left ? 0 : -1, access(path, F_OK));
	}
}

TEST_CASE(refuses_appends_beyond_bytes_max_until_acks_make_room)
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

TEST_CASE(at_most_in_flight_max_records_wait_for_acks)
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

TEST_CASE(an_unusable_directory_refuses_appends_until_it_is_usable)
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

TEST_CASE(a_directory_locked_by_another_journal_is_not_touched)
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

TEST_CASE(an_appender_and_a_shipper_run_without_a_lock)
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

/* JOURNAL_TEST_BYTES=4831838208 tests sizes above 32 bits; it takes that much disk space. */
static uint64_t bytes_of_an_outage(void)
{
	const char *text = getenv("JOURNAL_TEST_BYTES");
	return text ? strtoull(text, NULL, 10) : (uint64_t)4 * 1024 * 1024;
}

TEST_CASE(holds_the_backlog_of_a_long_outage)
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

TEST_MAIN(.set_up = set_up, .tear_down = tear_down)
