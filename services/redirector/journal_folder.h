/*
 * One thread at a time. The folder of a journal: who holds it, and the segments that an earlier process left in it.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_JOURNAL_FOLDER_H
#define WAYMARK_SERVICES_REDIRECTOR_JOURNAL_FOLDER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "services/redirector/journal_segment.h"

/*
 * Makes the folder if it is not there and takes its lock (flock on the file "lock"; close the descriptor to let it go).
 * ERR_UNAVAILABLE: it cannot be made or written, or another process has it; logged.
 */
enum err journal_folder_lock(const char *dir, const struct log *log, int *lock_fd) MUST_CHECK;

struct journal_folder {
	size_t count;
	struct journal_segment **segments; /* in the order in which they were written; take them out or free them */
	uint64_t *records;                 /* unreleased whole records of each */
	uint64_t next_number;              /* beyond every file's, whether or not it could be opened */
};

/* Opens every segment that is whole enough; the others are logged and left alone. */
void journal_folder_list(struct journal_folder *folder, const char *dir, const struct log *log);

/* Releases the lists, not the segments. */
void journal_folder_clear(struct journal_folder *folder);

#endif
