/*
 * Safe from any thread after file_watch_start. Tells when files have another content, whether they were replaced
 * (renamed over, or a symbolic link in the way changed, as Kubernetes does it) or written in place.
 *
 * A thread of its own looks at them every interval_ms. A file that has changed is read again when it has stood still
 * for one more interval, so that half of it is not taken for all. What cannot be used is told once, and tried again
 * when the file changes again.
 */
#ifndef WAYMARK_LIB_BASE_FILE_WATCH_H
#define WAYMARK_LIB_BASE_FILE_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/metrics.h"

#define FILE_WATCH_FILES_MAX 4

struct file_watch;

/* Borrowed. reread is called in the watch's thread; not OK: it goes on with what it had, and has said why. */
struct file_watch_file {
	const char *path; /* "" = no file */
	enum err (*reread)(void *ctx);
	void *ctx;
};

struct file_watch_config {
	const struct file_watch_file *files;
	size_t count; /* at most FILE_WATCH_FILES_MAX */
	int64_t interval_ms;
	struct metric *read_total; /* counter: times that a file was read again; may be NULL */
	struct metric *broken;     /* gauge: files that cannot be used as they are now; may be NULL */
};

/* What the files hold from here on is new. So: new, read them, start. */
struct file_watch *file_watch_new(const struct file_watch_config *config);
void file_watch_start(struct file_watch *watch);
/* Ends the thread, if there is one. NULL is allowed. */
void file_watch_free(struct file_watch *watch);

#endif
