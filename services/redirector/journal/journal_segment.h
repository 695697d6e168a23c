/*
 * One file of a journal. One appender and one reader at a time, which may be two threads.
 *
 * The file is memory-mapped and fully allocated before its first record, so a full disk is an error
 * here and never a SIGBUS later. Appended records are in the kernel's page cache: they survive the
 * process (kill -9), not the machine (journal_segment_sync).
 *
 * Layout, little-endian, everything aligned to 8 bytes:
 *   header  64 bytes: magic "WMJRNL01", number u64,
 *           released u64 (bytes from the start that need not be read again)
 *   record  length u32, zero u32, checksum u64 (XXH3 of number, offset and payload), payload,
 *           zero padding
 *
 * length is written last, after a 0 at the place of the next record, because what follows may be
 * left over from an earlier use of the file. A length of 0 means "nothing here yet";
 * JOURNAL_SEGMENT_CLOSED means "the journal continues in the next file".
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_JOURNAL_JOURNAL_SEGMENT_H
#define WAYMARK_SERVICES_REDIRECTOR_JOURNAL_JOURNAL_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"

#define JOURNAL_SEGMENT_HEADER_BYTES 64
#define JOURNAL_SEGMENT_CLOSED UINT32_MAX
#define JOURNAL_SEGMENT_PATH_SIZE 320

struct journal_segment {
	/* In its journal. */
	struct journal_segment *_Atomic next;
	uint8_t *map;
	/* Of the file and of its mapping. */
	size_t size;
	/* Rises with each file of a journal. */
	uint64_t number;
	/* The appender's. */
	size_t append_at;
	/* The reader's. */
	size_t read_at;
	/* The reader's: complete, and the disk has all of it. */
	bool is_synced;
	char path[JOURNAL_SEGMENT_PATH_SIZE];
};

/* ERR_LIMIT: the disk is full. ERR_UNAVAILABLE: the directory cannot be written. Both logged. */
enum err journal_segment_create(const char *dir, uint64_t number, size_t size,
                                const struct log *log, struct journal_segment **out) MUST_CHECK;

/*
 * Empties a fully released segment and gives it a new number. Its file is already allocated, mapped
 * and in memory, which saves the appender a page fault every few records. ERR_UNAVAILABLE: the file
 * cannot be renamed (logged); the segment is unchanged.
 */
enum err journal_segment_reuse(struct journal_segment *s, const char *dir, uint64_t number,
                               const struct log *log) MUST_CHECK;

/*
 * Opens a file that an earlier process left; reading begins after what that process had released.
 * ERR_INVALID: not a valid segment (logged; the file is left in place), or one that was allocated
 * but never synced before a power cut (deleted). ERR_UNAVAILABLE: it cannot be read (logged).
 */
enum err journal_segment_open(const char *path, const struct log *log,
                              struct journal_segment **out) MUST_CHECK;

/* Counts the whole records that are still to be read. is_torn: a broken record follows them. */
void journal_segment_inspect(const struct journal_segment *s, uint64_t *records, bool *is_torn);

/*
 * Truncates a recovered file after its last whole record, which frees nearly all of the file of a
 * process that was killed early. On failure the file keeps its size.
 */
void journal_segment_trim(struct journal_segment *s);

/* What a record of len bytes takes in the file. */
size_t journal_segment_record_bytes(size_t len);

/* ERR_LIMIT: the record does not fit; close the segment and use the next one. */
enum err journal_segment_append(struct journal_segment *s, const void *bytes,
                                size_t len) MUST_CHECK;

/* Marks that nothing will be appended any more. */
void journal_segment_close(struct journal_segment *s);

enum journal_segment_read {
	JOURNAL_SEGMENT_RECORD,  /* bytes and len are set; borrowed until the segment is freed; end
	                            is the offset after it */
	JOURNAL_SEGMENT_NOTHING, /* no record yet */
	JOURNAL_SEGMENT_END,     /* closed: continue with the next segment */
};

/* recovered: nothing is appended any more, so an offset without a whole record is the end. */
enum journal_segment_read journal_segment_next(struct journal_segment *s, bool recovered,
                                               const void **bytes, size_t *len, size_t *end);

/* Records in the file that everything before end need not be read again. */
void journal_segment_release(struct journal_segment *s, size_t end);

/*
 * Writes appended records to the disk (msync). Does nothing once a complete segment is synced:
 * is_complete says that nothing is appended any more. ERR_UNAVAILABLE: the disk fails (logged).
 */
enum err journal_segment_sync(struct journal_segment *s, bool is_complete,
                              const struct log *log) MUST_CHECK;

/* Unmaps the file; remove also deletes it. NULL is allowed. */
void journal_segment_free(struct journal_segment *s, bool remove);

#endif
