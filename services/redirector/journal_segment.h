/*
 * One appender and one reader at a time, which may be two threads. One file of a journal: memory-mapped, allocated in
 * full before its first record, so that a full disk is an error here and never a SIGBUS later. What was appended is in
 * the kernel's page cache: it outlives the process (kill -9), not the machine (see journal_segment_sync).
 *
 * Layout, little-endian, everything at multiples of 8:
 *   header  64 bytes: magic "WMJRNL01", number u64, released u64 (bytes from the start that need not be read again)
 *   record  length u32, zero u32, checksum u64 (XXH3 of number, offset and payload), payload, zeroes up to a multiple of 8
 * length is written last, after a 0 where the next record will be: what lies behind may be of the file's earlier use.
 * 0 = nothing here yet; JOURNAL_SEGMENT_CLOSED = the journal goes on in the next file.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_JOURNAL_SEGMENT_H
#define WAYMARK_SERVICES_REDIRECTOR_JOURNAL_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"

#define JOURNAL_SEGMENT_HEADER_BYTES 64
#define JOURNAL_SEGMENT_CLOSED UINT32_MAX
#define JOURNAL_SEGMENT_PATH_SIZE 320

struct journal_segment {
	struct journal_segment *_Atomic next; /* of its journal */
	uint8_t *map;
	size_t size;      /* of the file and of the map */
	uint64_t number;  /* rises with each file of a journal */
	size_t append_at; /* the appender's */
	size_t read_at;   /* the reader's */
	char path[JOURNAL_SEGMENT_PATH_SIZE];
};

/* ERR_LIMIT: the disk is full. ERR_UNAVAILABLE: the folder cannot be written. Both are logged. */
enum err journal_segment_create(const char *dir, uint64_t number, size_t size, const struct log *log,
                                struct journal_segment **out) MUST_CHECK;

/*
 * Takes a segment of which everything is released, empty and under a new number: its file is allocated, mapped and in
 * memory already, which saves the appender a page fault every few records. ERR_UNAVAILABLE: the file cannot be renamed
 * (logged); the segment is as it was.
 */
enum err journal_segment_reuse(struct journal_segment *s, const char *dir, uint64_t number,
                               const struct log *log) MUST_CHECK;

/*
 * Opens a file that an earlier process left; reading begins behind what it had released. ERR_INVALID: it is no segment
 * (logged; the file is left alone). ERR_UNAVAILABLE: it cannot be read.
 */
enum err journal_segment_open(const char *path, const struct log *log, struct journal_segment **out) MUST_CHECK;

/* Whole records from the reader's place on, and whether a broken one follows them: a torn tail. */
void journal_segment_survey(const struct journal_segment *s, uint64_t *records, bool *is_torn);

/*
 * Gives the disk back what lies behind the last whole record of a file that an earlier process left: of a process that
 * was killed soon, nearly all of it. At worst it stays as large as it was.
 */
void journal_segment_trim(struct journal_segment *s);

/* ERR_LIMIT: it does not fit any more; close the segment and take the next one. */
enum err journal_segment_append(struct journal_segment *s, const void *bytes, size_t len) MUST_CHECK;

/* Says that nothing will be appended any more. */
void journal_segment_close(struct journal_segment *s);

enum journal_segment_read {
	JOURNAL_SEGMENT_RECORD, /* bytes and len are set; borrowed until the segment is freed; end is the offset behind it */
	JOURNAL_SEGMENT_NOTHING, /* not yet */
	JOURNAL_SEGMENT_END,     /* closed: go on with the next one */
};

/* recovered: nobody appends any more, so a place without a whole record is the end. */
enum journal_segment_read journal_segment_next(struct journal_segment *s, bool recovered, const void **bytes,
                                               size_t *len, size_t *end);

/* Remembers in the file that what lies before end need not be read again. */
void journal_segment_release(struct journal_segment *s, size_t end);

/* Brings what was appended to the disk itself. */
void journal_segment_sync(const struct journal_segment *s);

/* Unmaps; remove also deletes the file. */
void journal_segment_free(struct journal_segment *s, bool remove);

#endif
