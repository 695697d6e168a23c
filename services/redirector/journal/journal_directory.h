/* One thread at a time. A journal's directory: its lock, and segments of earlier processes. */
#ifndef WAYMARK_SERVICES_REDIRECTOR_JOURNAL_JOURNAL_DIRECTORY_H
#define WAYMARK_SERVICES_REDIRECTOR_JOURNAL_JOURNAL_DIRECTORY_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "services/redirector/journal/journal_segment.h"

/* Creates the directory, durably, if it is missing. ERR_UNAVAILABLE: cannot (logged). */
enum err journal_directory_make(const char *dir, const struct log *log) MUST_CHECK;

/*
 * Creates the directory if it is missing and locks it: flock on the file "lock"; close the
 * descriptor to release it. ERR_UNAVAILABLE: the directory cannot be created or written, or another
 * process holds the lock (logged).
 */
enum err journal_directory_lock(const char *dir, const struct log *log, int *lock_fd) MUST_CHECK;

/*
 * Writes the names in the directory to the disk, so that new and renamed files survive a power cut.
 * ERR_UNAVAILABLE: the disk fails (logged).
 */
enum err journal_directory_sync(const char *dir, const struct log *log) MUST_CHECK;

struct journal_directory {
	size_t count;
	/* In the order in which they were written; the caller frees them. */
	struct journal_segment **segments;
	/* Unreleased whole records of each segment. */
	uint64_t *records;
	/* Above the number of every file, opened or not. */
	uint64_t next_number;
};

/* Opens every segment that is intact enough. The others are logged and left in place. */
void journal_directory_list(struct journal_directory *directory, const char *dir,
                            const struct log *log);

/* Frees the lists, not the segments. */
void journal_directory_clear(struct journal_directory *directory);

#endif
