#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/file_watch.h"
#include "lib/base/mem.h"
#include "tests/support/test.h"
#include "tests/support/test_folder.h"

#define INTERVAL_MS 10
#define DEADLINE_US TEST_DEADLINE_US

struct fixture {
	char folder[TEST_FOLDER_SIZE];
	char path[TEST_FOLDER_SIZE + 16];
	char other[TEST_FOLDER_SIZE + 16];
	_Atomic int read;
	/* Of the file when it was last read. */
	_Atomic int size;
	_Atomic bool fails;
	struct file_watch *watch;
};

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

/* Atomic: the watch sees either the old file or the new one. */
static void replace_file(const struct fixture *f, const char *text)
{
	write_file(f->other, text);
	assert_int_equal(rename(f->other, f->path), 0);
}

static enum err reread(void *ctx)
{
	struct fixture *f = ctx;
	FILE *file = fopen(f->path, "r");
	char text[100];
	atomic_store(&f->size, file ? (int)fread(text, 1, sizeof(text), file) : -1);
	if (file)
		fclose(file);
	atomic_fetch_add(&f->read, 1);
	return atomic_load(&f->fails) ? ERR_INVALID : OK;
}

static void pause_for_an_interval(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = INTERVAL_MS * 1000000 }, NULL);
}

static void await_size(struct fixture *f, int size)
{
	int64_t deadline_us = clock_steady_us(clock_system()) + DEADLINE_US;
	while (atomic_load(&f->size) != size) {
		assert_true(clock_steady_us(clock_system()) < deadline_us);
		pause_for_an_interval();
	}
}

static int set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	test_folder_make(f->folder);
	snprintf(f->path, sizeof(f->path), "%s/file", f->folder);
	snprintf(f->other, sizeof(f->other), "%s/other", f->folder);
	write_file(f->path, "1");
	const struct file_watch_file files[] = { { "", reread, NULL }, { f->path, reread, f } };
	f->watch = file_watch_new(&(struct file_watch_config){
		.files = files, .count = 2, .interval_ms = INTERVAL_MS });
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	file_watch_free(f->watch);
	test_folder_remove(f->folder);
	free(f);
	return 0;
}

TEST_CASE(notices_a_file_that_is_renamed_over)
{
	struct fixture *f = *state;
	file_watch_start(f->watch);
	replace_file(f, "22");
	await_size(f, 2);
	replace_file(f, "333");
	await_size(f, 3);
}

TEST_CASE(notices_a_file_that_is_written_in_place)
{
	struct fixture *f = *state;
	file_watch_start(f->watch);
	write_file(f->path, "4444");
	await_size(f, 4);
}

TEST_CASE(notices_a_changed_symbolic_link)
{
	struct fixture *f = *state;
	char second[TEST_FOLDER_SIZE + 16];
	snprintf(second, sizeof(second), "%s/second", f->folder);
	write_file(second, "55555");
	assert_int_equal(symlink("second", f->other), 0);
	file_watch_start(f->watch);
	assert_int_equal(rename(f->other, f->path), 0);
	await_size(f, 5);
}

TEST_CASE(notices_a_change_between_new_and_start)
{
	struct fixture *f = *state;
	write_file(f->path, "666666");
	file_watch_start(f->watch);
	await_size(f, 6);
}

TEST_CASE(does_not_read_an_unchanged_file)
{
	struct fixture *f = *state;
	file_watch_start(f->watch);
	for (int i = 0; i < 10; i++)
		pause_for_an_interval();
	assert_int_equal(atomic_load(&f->read), 0);
	replace_file(f, "22");
	await_size(f, 2);
	for (int i = 0; i < 10; i++)
		pause_for_an_interval();
	assert_int_equal(atomic_load(&f->read), 1);
}

TEST_CASE(retries_an_unusable_file_only_after_it_changes)
{
	struct fixture *f = *state;
	atomic_store(&f->fails, true);
	file_watch_start(f->watch);
	replace_file(f, "22");
	await_size(f, 2);
	for (int i = 0; i < 10; i++)
		pause_for_an_interval();
	assert_int_equal(atomic_load(&f->read), 1);
	atomic_store(&f->fails, false);
	replace_file(f, "333");
	await_size(f, 3);
}

TEST_CASE(notices_a_file_that_disappears_and_reappears)
{
	struct fixture *f = *state;
	file_watch_start(f->watch);
	unlink(f->path);
	await_size(f, -1);
	write_file(f->path, "7777777");
	await_size(f, 7);
}

TEST_CASE(can_be_freed_before_it_is_started)
{
	const struct fixture *f = *state;
	assert_int_equal(atomic_load(&f->read), 0);
}

TEST_MAIN(.set_up = set_up, .tear_down = tear_down)
