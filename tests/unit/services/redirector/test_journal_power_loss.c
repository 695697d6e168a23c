#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "services/redirector/journal/journal.h"
#include "services/redirector/journal/journal_segment.h"
#include "tests/support/clock_fake.h"
#include "tests/support/test.h"
#include "tests/support/test_folder.h"

#define SEGMENT_BYTES (64 * 1024)
#define FSYNC_MS 100
#define FILES_MAX 64
#define RECORDS_MAX 10000

/*
 * What a disk holds after a power cut: the contents that msync wrote, and the names that fsync of
 * the directory wrote. The linker leads both calls here (--wrap).
 */
static struct disk {
	struct {
		ino_t inode;
		size_t size;
		uint8_t *bytes;
	} files[FILES_MAX];
	size_t file_count;
	struct {
		ino_t inode;
		char name[256];
	} names[FILES_MAX];
	size_t name_count;
	bool fails;
} disk;

int __real_msync(void *addr, size_t len, int flags);
int __wrap_msync(void *addr, size_t len, int flags);
int __real_fsync(int fd);
int __wrap_fsync(int fd);

static ino_t inode_of_mapping(const void *addr)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[1024];
	unsigned long inode = 0;
	while (inode == 0 && fgets(line, sizeof(line), maps)) {
		/* begin-end permissions offset device inode path */
		char *rest = NULL;
		unsigned long begin = strtoul(line, &rest, 16);
		unsigned long end = strtoul(rest + 1, &rest, 16);
		for (int field = 0; field < 3; field++)
			rest += strspn(rest, " ") + strcspn(rest + strspn(rest, " "), " ");
		if (begin <= (uintptr_t)addr && (uintptr_t)addr < end)
			inode = strtoul(rest, NULL, 10);
	}
	fclose(maps);
	assert_true(inode != 0);
	return inode;
}

int __wrap_msync(void *addr, size_t len, int flags)
{
	if (disk.fails) {
		errno = EIO;
		return -1;
	}
	ino_t inode = inode_of_mapping(addr);
	size_t i = 0;
	while (i < disk.file_count && disk.files[i].inode != inode)
		i++;
	assert_true(i < FILES_MAX);
	if (i == disk.file_count)
		disk.files[disk.file_count++].inode = inode;
	free(disk.files[i].bytes);
	disk.files[i].bytes = mem_zero(len);
	disk.files[i].size = len;
	memcpy(disk.files[i].bytes, addr, len);
	return __real_msync(addr, len, flags);
}

int __wrap_fsync(int fd)
{
	char path[64], entry_path[512];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	DIR *directory = opendir(path);
	assert_non_null(directory);
	disk.name_count = 0;
	for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
		struct stat found;
		snprintf(entry_path, sizeof(entry_path), "%s/%s", path, entry->d_name);
		if (!strstr(entry->d_name, ".seg") || stat(entry_path, &found) != 0)
			continue;
		assert_true(disk.name_count < FILES_MAX);
		disk.names[disk.name_count].inode = found.st_ino;
		snprintf(disk.names[disk.name_count++].name, sizeof(disk.names[0].name), "%s",
		         entry->d_name);
	}
	closedir(directory);
	return __real_fsync(fd);
}

/* Writes what the disk holds into an empty folder. A file that was never written is all zeros. */
static void restore_disk(const char *dir)
{
	static const uint8_t zeros[SEGMENT_BYTES];
	for (size_t n = 0; n < disk.name_count; n++) {
		char path[512];
		const uint8_t *bytes = zeros;
		size_t size = sizeof(zeros);
		for (size_t i = 0; i < disk.file_count; i++) {
			if (disk.files[i].inode == disk.names[n].inode) {
				bytes = disk.files[i].bytes;
				size = disk.files[i].size;
			}
		}
		snprintf(path, sizeof(path), "%s/%s", dir, disk.names[n].name);
		FILE *file = fopen(path, "we");
		assert_non_null(file);
		assert_int_equal(fwrite(bytes, 1, size, file), size);
		fclose(file);
	}
}

struct fixture {
	char dir[TEST_FOLDER_SIZE];
	char dir_after[TEST_FOLDER_SIZE];
	struct clock_fake clock;
	struct journal_config config;
	struct journal *journal;
};

static int set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	test_folder_make(f->dir);
	test_folder_make(f->dir_after);
	clock_fake_init(&f->clock, 0);
	f->config = (struct journal_config){ .dir = f->dir,
		                             .segment_bytes = SEGMENT_BYTES,
		                             .bytes_max = (size_t)32 * SEGMENT_BYTES,
		                             .in_flight_max = RECORDS_MAX,
		                             .fsync_ms = FSYNC_MS,
		                             .clock = &f->clock.clock };
	f->journal = journal_new(&f->config);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	journal_free(f->journal);
	test_folder_remove(f->dir);
	test_folder_remove(f->dir_after);
	for (size_t i = 0; i < disk.file_count; i++)
		free(disk.files[i].bytes);
	disk = (struct disk){ 0 };
	free(f);
	return 0;
}

static void append_numbers(struct fixture *f, int first, int last)
{
	for (int n = first; n <= last; n++) {
		char text[200] = "";
		snprintf(text, sizeof(text), "%d", n);
		assert_int_equal(journal_append(f->journal, text, sizeof(text)), OK);
	}
}

static void read_numbers(struct fixture *f, int count, bool is_acked)
{
	for (int n = 0; n < count; n++) {
		struct journal_record record;
		assert_true(journal_next(f->journal, &record));
		if (is_acked)
			journal_ack(f->journal, record.ack_id);
	}
}

static void sync_now(struct fixture *f)
{
	clock_fake_advance(&f->clock, FSYNC_MS * CLOCK_US_PER_MS);
	journal_maintain(f->journal);
}

/* Cuts the power. The next process must find the numbers first to last; repeats are harmless. */
static void expect_after_power_cut(struct fixture *f, int first, int last)
{
	static bool is_found[RECORDS_MAX];
	memset(is_found, 0, sizeof(is_found));
	restore_disk(f->dir_after);
	struct journal_config config = f->config;
	config.dir = f->dir_after;
	struct journal *after = journal_new(&config);
	struct journal_record record;
	while (journal_next(after, &record))
		is_found[strtol(record.bytes, NULL, 10)] = true;
	journal_free(after);
	for (int n = first; n <= last; n++) {
		if (!is_found[n])
			fail_msg("the power cut lost %d of %d to %d", n, first, last);
	}
}

/* The shipper has read several segments, and Kafka has acknowledged nothing of them. */
TEST_CASE(loses_no_synced_record_that_was_read_but_not_acked)
{
	struct fixture *f = *state;
	append_numbers(f, 1, 2000);
	read_numbers(f, 2000, false);
	sync_now(f);
	append_numbers(f, 2001, 2010);
	expect_after_power_cut(f, 1, 2000);
}

TEST_CASE(loses_no_synced_record_of_a_reused_segment)
{
	struct fixture *f = *state;
	int last = 0;
	for (int round = 0; round < 20; round++) {
		append_numbers(f, last + 1, last + 250);
		sync_now(f); /* complete segments count as synced until they are used again */
		read_numbers(f, 250, true);
		journal_maintain(f->journal);
		last += 250;
	}
	append_numbers(f, last + 1, last + 400);
	read_numbers(f, 100, false);
	sync_now(f);
	expect_after_power_cut(f, last + 1, last + 400);
}

/* A complete segment is synced once, one with a new record again. */
TEST_CASE(syncs_what_came_after_the_last_sync)
{
	struct fixture *f = *state;
	append_numbers(f, 1, 1000);
	sync_now(f);
	append_numbers(f, 1001, 2000);
	sync_now(f);
	append_numbers(f, 2001, 2100);
	sync_now(f);
	expect_after_power_cut(f, 1, 2100);
}

TEST_CASE(loses_nothing_after_it_was_closed)
{
	struct fixture *f = *state;
	append_numbers(f, 1, 1000);
	journal_free(f->journal);
	f->journal = NULL;
	expect_after_power_cut(f, 1, 1000);
}

TEST_CASE(is_unhealthy_while_the_disk_fails_to_sync)
{
	struct fixture *f = *state;
	append_numbers(f, 1, 10);
	assert_true(journal_is_healthy(f->journal));
	disk.fails = true;
	sync_now(f);
	assert_false(journal_is_healthy(f->journal));
	disk.fails = false;
	sync_now(f);
	assert_true(journal_is_healthy(f->journal));
	expect_after_power_cut(f, 1, 10);
}

TEST_MAIN(.set_up = set_up, .tear_down = tear_down)
