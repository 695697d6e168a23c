/*
 * Calls back when the content of a file changes. It notices files that are replaced (renamed over,
 * or a symbolic link in the path changed, as Kubernetes does it) and files that are written in
 * place.
 *
 * A thread polls the files every interval_ms. It reads a changed file only after one more interval
 * without a change, so that it never reads a half-written file. If the new content cannot be used,
 * the callback reports it once; the file is tried again after its next change.
 *
 * Safe from any thread after file_watch_start.
 */
#ifndef WAYMARK_LIB_BASE_FILE_WATCH_H
#define WAYMARK_LIB_BASE_FILE_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/metrics.h"

#define FILE_WATCH_FILES_MAX 4

struct file_watch;

/*
 * Borrowed. reread is called in the watching thread. If it fails, it has logged why and keeps using
 * the previous content.
 */
struct file_watch_file {
	/* "" = no file. */
	const char *path;
	enum err (*reread)(void *ctx);
	void *ctx;
};

struct file_watch_config {
	const struct file_watch_file *files;
	/* At most FILE_WATCH_FILES_MAX. */
	size_t count;
	int64_t interval_ms;
	/* Gauge: files whose current content cannot be used; may be NULL. */
	struct metric *broken;
};

/* Changes after this call are noticed. So the order is: new, read the files, start. */
struct file_watch *file_watch_new(const struct file_watch_config *config);
void file_watch_start(struct file_watch *watch);
/* Stops the thread if it was started. NULL is allowed. */
void file_watch_free(struct file_watch *watch);

#endif
