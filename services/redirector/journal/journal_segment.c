#include "services/redirector/journal/journal_segment.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "lib/base/mem.h"

struct header {
	char magic[8];
	uint64_t number;
	_Atomic uint64_t released;
	uint8_t reserved[40];
};

struct record {
	_Atomic uint32_t length;
	uint32_t zero;
	uint64_t checksum;
};

static_assert(sizeof(struct header) == JOURNAL_SEGMENT_HEADER_BYTES,
              "the header's layout is part of the format");
static_assert(sizeof(struct record) == 16, "the record's layout is part of the format");

static const char magic[8] = { 'W', 'M', 'J', 'R', 'N', 'L', '0', '1' };

static struct header *header_of(const struct journal_segment *s)
{
	return (struct header *)s->map;
}

static struct record *record_at(const struct journal_segment *s, size_t offset)
{
	return (struct record *)(s->map + offset);
}

size_t journal_segment_record_bytes(size_t len)
{
	return sizeof(struct record) + ((len + 7) & ~(size_t)7);
}

/* Includes number and offset, so a record from an earlier use of the file does not match. */
static uint64_t checksum_of(const struct journal_segment *s, size_t offset, const void *bytes,
                            size_t len)
{
	return XXH3_64bits_withSeed(bytes, len, s->number * 0x9E3779B97F4A7C15u + offset);
}

static enum err fail(const struct log *log, const char *event, const char *path, int error)
{
	log_error(log, event, LOG_TEXT("path", path), LOG_TEXT("error", strerrordesc_np(error)));
	return error == ENOSPC || error == EDQUOT || error == EFBIG ? ERR_LIMIT : ERR_UNAVAILABLE;
}

static struct journal_segment *segment_new(const char *path)
{
	struct journal_segment *s = mem_zero(sizeof *s);
	snprintf(s->path, sizeof s->path, "%s", path);
	s->append_at = s->read_at = JOURNAL_SEGMENT_HEADER_BYTES;
	return s;
}

/* MAP_POPULATE: the thread that prepares a segment pays for its page faults. */
static int map_file(struct journal_segment *s, int fd, size_t size)
{
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (map == MAP_FAILED)
		return errno;
	s->map = map;
	s->size = size;
	return 0;
}

static void name_file(char path[static JOURNAL_SEGMENT_PATH_SIZE], const char *dir, uint64_t number)
{
	snprintf(path, JOURNAL_SEGMENT_PATH_SIZE, "%s/%020llu.seg", dir,
	         (unsigned long long)number);
}

enum err journal_segment_create(const char *dir, uint64_t number, size_t size,
                                const struct log *log, struct journal_segment **out)
{
	char path[JOURNAL_SEGMENT_PATH_SIZE];
	name_file(path, dir, number);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail(log, "journal_segment_not_created", path, errno);
	struct journal_segment *s = segment_new(path);
	int error = posix_fallocate(fd, 0, (off_t)size);
	if (error == 0)
		error = map_file(s, fd, size);
	close(fd);
	if (error != 0) {
		unlink(path);
		free(s);
		return fail(log, "journal_segment_not_allocated", path, error);
	}
	s->number = number;
	*header_of(s) =
		(struct header){ .number = number, .released = JOURNAL_SEGMENT_HEADER_BYTES };
	/* The magic is written last: a file without it was never used. */
	atomic_signal_fence(memory_order_release);
	memcpy(header_of(s)->magic, magic, sizeof magic);
	*out = s;
	return OK;
}

static void mark_end(struct journal_segment *s, size_t offset, uint32_t mark)
{
	if (offset + sizeof(struct record) <= s->size)
		atomic_store_explicit(&record_at(s, offset)->length, mark, memory_order_release);
}

/* The order of the steps matters: wherever the process is killed, the file holds no records. */
enum err journal_segment_reuse(struct journal_segment *s, const char *dir, uint64_t number,
                               const struct log *log)
{
	char path[JOURNAL_SEGMENT_PATH_SIZE];
	name_file(path, dir, number);
	if (rename(s->path, path) != 0) {
		log_error(log, "journal_segment_not_renamed", LOG_TEXT("path", s->path),
		          LOG_TEXT("error", strerrordesc_np(errno)));
		return ERR_UNAVAILABLE;
	}
	snprintf(s->path, sizeof s->path, "%s", path);
	mark_end(s, JOURNAL_SEGMENT_HEADER_BYTES, 0);
	atomic_store_explicit(&header_of(s)->released, JOURNAL_SEGMENT_HEADER_BYTES,
	                      memory_order_release);
	header_of(s)->number = s->number = number;
	s->append_at = s->read_at = JOURNAL_SEGMENT_HEADER_BYTES;
	s->is_synced = false;
	atomic_store(&s->next, NULL);
	return OK;
}

static bool header_is_valid(const struct journal_segment *s)
{
	const struct header *header = header_of(s);
	return memcmp(header->magic, magic, sizeof magic) == 0 &&
	       header->released >= JOURNAL_SEGMENT_HEADER_BYTES && header->released <= s->size &&
	       header->released % 8 == 0;
}

/* It has been allocated, but no sync has reached it: every sync writes the header. */
static bool was_never_synced(const struct journal_segment *s)
{
	static const uint8_t zeros[JOURNAL_SEGMENT_HEADER_BYTES];
	return memcmp(s->map, zeros, sizeof zeros) == 0;
}

enum err journal_segment_open(const char *path, const struct log *log, struct journal_segment **out)
{
	struct stat st;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return fail(log, "journal_segment_not_opened", path, errno);
	struct journal_segment *s = segment_new(path);
	int error = fstat(fd, &st) == 0 ? 0 : errno;
	if (error == 0 && st.st_size >= JOURNAL_SEGMENT_HEADER_BYTES)
		error = map_file(s, fd, (size_t)st.st_size);
	close(fd);
	if (error != 0) {
		free(s);
		return fail(log, "journal_segment_not_opened", path, error);
	}
	if (s->map == NULL || !header_is_valid(s)) {
		bool is_empty = s->map == NULL ? st.st_size == 0 : was_never_synced(s);
		if (!is_empty)
			log_error(log, "journal_segment_invalid", LOG_TEXT("path", path));
		journal_segment_free(s, is_empty);
		return ERR_INVALID;
	}
	s->number = header_of(s)->number;
	s->read_at = (size_t)header_of(s)->released;
	*out = s;
	return OK;
}

/* The length of the whole record at an offset; -1: none. */
static int64_t whole_record_at(const struct journal_segment *s, size_t offset)
{
	if (offset + sizeof(struct record) > s->size)
		return -1;
	const struct record *record = record_at(s, offset);
	uint32_t length = atomic_load_explicit(&record->length, memory_order_acquire);
	if (length == 0 || length == JOURNAL_SEGMENT_CLOSED ||
	    journal_segment_record_bytes(length) > s->size - offset)
		return -1;
	return record->checksum == checksum_of(s, offset, record + 1, length) ? (int64_t)length
	                                                                      : -1;
}

static bool is_closed_at(const struct journal_segment *s, size_t offset)
{
	return offset + sizeof(struct record) > s->size ||
	       atomic_load_explicit(&record_at(s, offset)->length, memory_order_acquire) ==
	               JOURNAL_SEGMENT_CLOSED;
}

/* Counts the whole records that are still to be read; returns the offset after them. */
static size_t count_records(const struct journal_segment *s, uint64_t *records)
{
	size_t offset = s->read_at;
	int64_t length;
	*records = 0;
	for (; (length = whole_record_at(s, offset)) >= 0;
	     offset += journal_segment_record_bytes((size_t)length))
		++*records;
	return offset;
}

void journal_segment_inspect(const struct journal_segment *s, uint64_t *records, bool *is_torn)
{
	size_t end = count_records(s, records);
	*is_torn = !is_closed_at(s, end) && atomic_load(&record_at(s, end)->length) != 0;
}

void journal_segment_trim(struct journal_segment *s)
{
	uint64_t records;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = (count_records(s, &records) + page - 1) / page * page;
	if (size >= s->size || truncate(s->path, (off_t)size) != 0)
		return;
	munmap(s->map + size, s->size - size);
	s->size = size;
}

enum err journal_segment_append(struct journal_segment *s, const void *bytes, size_t len)
{
	size_t offset = s->append_at;
	if (len == 0 || len >= JOURNAL_SEGMENT_CLOSED)
		return ERR_INVALID;
	if (journal_segment_record_bytes(len) > s->size - offset)
		return ERR_LIMIT;
	struct record *record = record_at(s, offset);
	memcpy(record + 1, bytes, len);
	record->checksum = checksum_of(s, offset, bytes, len);
	s->append_at = offset + journal_segment_record_bytes(len);
	mark_end(s, s->append_at, 0);
	atomic_store_explicit(&record->length, (uint32_t)len, memory_order_release);
	return OK;
}

void journal_segment_close(struct journal_segment *s)
{
	mark_end(s, s->append_at, JOURNAL_SEGMENT_CLOSED);
}

enum journal_segment_read journal_segment_next(struct journal_segment *s, bool recovered,
                                               const void **bytes, size_t *len, size_t *end)
{
	size_t offset = s->read_at;
	if (is_closed_at(s, offset))
		return JOURNAL_SEGMENT_END;
	int64_t length = whole_record_at(s, offset);
	if (length < 0)
		return recovered ? JOURNAL_SEGMENT_END : JOURNAL_SEGMENT_NOTHING;
	*bytes = record_at(s, offset) + 1;
	*len = (size_t)length;
	*end = s->read_at = offset + journal_segment_record_bytes((size_t)length);
	return JOURNAL_SEGMENT_RECORD;
}

void journal_segment_release(struct journal_segment *s, size_t end)
{
	atomic_store_explicit(&header_of(s)->released, end, memory_order_relaxed);
}

enum err journal_segment_sync(struct journal_segment *s, bool is_complete, const struct log *log)
{
	if (s->is_synced)
		return OK;
	if (msync(s->map, s->size, MS_SYNC) != 0)
		return fail(log, "journal_segment_not_synced", s->path, errno);
	s->is_synced = is_complete;
	return OK;
}

void journal_segment_free(struct journal_segment *s, bool remove)
{
	if (s == NULL)
		return;
	if (s->map != NULL)
		munmap(s->map, s->size);
	if (remove)
		unlink(s->path);
	free(s);
}
