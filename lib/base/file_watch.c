#include "lib/base/file_watch.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "lib/base/mem.h"
#include "lib/base/thread.h"

/* Identifies one content of a file. All zeros: the file does not exist. */
struct stamp {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec modified;
	struct timespec changed;
};

struct watched {
	struct file_watch_file file;
	/* Of the content that was read last. */
	struct stamp loaded;
	/* At the last poll. */
	struct stamp seen;
	bool broken;
};

struct file_watch {
	struct watched files[FILE_WATCH_FILES_MAX];
	size_t count;
	int64_t interval_ms;
	struct metric *broken;

	struct thread *thread;
};

static struct stamp stat_file(const char *path)
{
	struct stat s;
	if (path[0] == '\0' || stat(path, &s) != 0)
		return (struct stamp){ 0 };
	return (struct stamp){ .device = s.st_dev,
		               .inode = s.st_ino,
		               .size = s.st_size,
		               .modified = s.st_mtim,
		               .changed = s.st_ctim };
}

static bool times_equal(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool stamps_equal(const struct stamp *a, const struct stamp *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       times_equal(a->modified, b->modified) && times_equal(a->changed, b->changed);
}

static void poll_file(struct watched *w)
{
	const struct stamp now = stat_file(w->file.path);
	bool is_unchanged = stamps_equal(&now, &w->seen);
	w->seen = now;
	if (!is_unchanged || stamps_equal(&now, &w->loaded))
		return;
	w->loaded = now;
	w->broken = w->file.reread(w->file.ctx) != OK;
}

static void poll_all(struct file_watch *watch)
{
	int64_t broken = 0;
	for (size_t i = 0; i < watch->count; i++) {
		poll_file(&watch->files[i]);
		broken += watch->files[i].broken;
	}
	metrics_set(watch->broken, broken);
}

static void run(void *ctx)
{
	struct file_watch *watch = ctx;
	while (!thread_wait_ms(watch->thread, watch->interval_ms))
		poll_all(watch);
}

struct file_watch *file_watch_new(const struct file_watch_config *config)
{
	struct file_watch *watch = mem_zero(sizeof(*watch));
	watch->interval_ms = config->interval_ms;
	watch->count = config->count < FILE_WATCH_FILES_MAX ? config->count : FILE_WATCH_FILES_MAX;
	for (size_t i = 0; i < watch->count; i++) {
		watch->files[i].file = config->files[i];
		watch->files[i].loaded = watch->files[i].seen = stat_file(config->files[i].path);
	}
	watch->thread = thread_new();
	watch->broken = config->broken;
	return watch;
}

void file_watch_start(struct file_watch *watch)
{
	thread_start(watch->thread, "file-watch", run, watch);
}

void file_watch_free(struct file_watch *watch)
{
	if (!watch)
		return;
	thread_free(watch->thread);
	free(watch);
}
