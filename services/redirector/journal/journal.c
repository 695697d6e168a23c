#include "services/redirector/journal/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "services/redirector/journal/journal_segment.h"

#define RETRY_US (1 * CLOCK_US_PER_S)
#define NUMBER_DIGITS 20

/* A record between journal_next and its release. Its running number is its ack_id. */
struct in_flight {
	struct journal_segment *segment;
	size_t end;
	const void *bytes;
	uint32_t len;
	_Atomic bool is_acked;
};

struct journal {
	struct journal_config config;
	char dir[256];
	int lock_fd;
	/* The shipper's: next try to open the directory or create a segment. */
	int64_t retry_at_us;
	/* The shipper's. */
	int64_t synced_at_us;
	/* Of the next segment. */
	_Atomic uint64_t next_number;
	/* The directory is locked and recovery is done. */
	_Atomic bool is_open;
	_Atomic bool accepts_appends;
	/* The last segment could not be created, for a reason other than bytes_max. */
	_Atomic bool is_broken;
	_Atomic bool is_sync_failing;
	/* The directory is to be synced. */
	_Atomic bool has_new_names;
	_Atomic uint64_t bytes;
	_Atomic uint64_t held;

	/*
	 * One chain, oldest first: recovered segments, then our own. The shipper removes segments
	 * at the front; the appender adds them at the end. The sentinel keeps the chain from ever
	 * being empty.
	 */
	struct journal_segment sentinel;
	/* The appender's, once recovery is done. */
	struct journal_segment *last;
	/* The shipper creates it, the appender uses it. The lock keeps numbers rising. */
	struct journal_segment *standby;
	pthread_mutex_t standby_lock;
	/* The shipper's: released, for the next standby; may be NULL. */
	struct journal_segment *spare;
	/* The shipper's; the sentinel: nothing read yet. */
	struct journal_segment *reading;
	/* Segments below it were recovered. */
	uint64_t first_own_number;

	struct in_flight *window;
	/* The shipper's. */
	uint64_t next_ack_id;
	/* The shipper's: the oldest that is not released yet. */
	uint64_t release_ack_id;

	_Atomic uint64_t appended;
	_Atomic uint64_t acked;
};

/* --- segments --- */

/* False: an earlier process wrote it, or it is the sentinel. */
static bool is_own(const struct journal *j, const struct journal_segment *s)
{
	return s->number >= j->first_own_number;
}

/* ERR_LIMIT: it would exceed bytes_max, or the disk is full. */
static enum err create_segment(struct journal *j, struct journal_segment **out)
{
	size_t size = j->config.segment_bytes;
	if (atomic_fetch_add(&j->bytes, size) + size > j->config.bytes_max) {
		atomic_fetch_sub(&j->bytes, size);
		return ERR_LIMIT;
	}
	enum err err = journal_segment_create(j->dir, atomic_fetch_add(&j->next_number, 1), size,
	                                      j->config.log, out);
	atomic_store(&j->is_broken, err != OK);
	if (err != OK)
		atomic_fetch_sub(&j->bytes, size);
	else
		atomic_store(&j->has_new_names, true);
	return err;
}

static void add_to_chain(struct journal *j, struct journal_segment *s)
{
	atomic_store_explicit(&j->last->next, s, memory_order_release);
	j->last = s;
}

/*
 * A process that is killed again and again leaves a segment each time. Trimming keeps nearly empty
 * ones from using up bytes_max.
 */
static void recover_segment(struct journal *j, struct journal_segment *s, uint64_t records)
{
	if (records == 0) {
		journal_segment_free(s, true);
		return;
	}
	journal_segment_trim(s);
	atomic_fetch_add(&j->appended, records);
	atomic_fetch_add(&j->bytes, s->size);
	atomic_fetch_add(&j->held, s->size);
	add_to_chain(j, s);
}

static int is_segment(const struct dirent *entry)
{
	const char *name = entry->d_name;
	return strlen(name) == NUMBER_DIGITS + 4 && strspn(name, "0123456789") == NUMBER_DIGITS &&
	       strcmp(name + NUMBER_DIGITS, ".seg") == 0;
}

static void open_segment(struct journal *j, const char *name)
{
	struct journal_segment *s;
	char path[JOURNAL_SEGMENT_PATH_SIZE];
	uint64_t records;
	bool is_torn;
	snprintf(path, sizeof path, "%s/%.*s", j->dir, NUMBER_DIGITS + 4, name);
	if (journal_segment_open(path, j->config.log, &s) != OK)
		return;
	journal_segment_inspect(s, &records, &is_torn);
	log_info(j->config.log, "journal_segment_recovered", LOG_TEXT("path", path),
	         LOG_INT("records", records), LOG_INT("is_torn", is_torn));
	recover_segment(j, s, records);
}

/* In the order in which they were written. One that is not intact stays where it is. */
static void recover(struct journal *j)
{
	struct dirent **entries = NULL;
	int count = scandir(j->dir, &entries, is_segment, alphasort);
	uint64_t next_number = 1;
	for (int i = 0; i < count; i++) {
		next_number = strtoull(entries[i]->d_name, NULL, 10) + 1;
		open_segment(j, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	j->first_own_number = next_number;
	atomic_store(&j->next_number, next_number);
}

/* --- the directory --- */

static enum err fail(const char *dir, const char *event, const struct log *log)
{
	log_error(log, event, LOG_TEXT("path", dir), LOG_TEXT("error", strerrordesc_np(errno)));
	return ERR_UNAVAILABLE;
}

/* Writes its names to the disk, so that new and renamed files survive a power cut. */
static enum err sync_directory(const char *dir, const struct log *log)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* EINVAL: the file system keeps names by other means. */
	bool is_synced = fd >= 0 && (fsync(fd) == 0 || errno == EINVAL);
	enum err err = is_synced ? OK : fail(dir, "journal_directory_not_synced", log);
	if (fd >= 0)
		close(fd);
	return err;
}

enum err journal_make_directory(const char *dir, const struct log *log)
{
	char parent[JOURNAL_SEGMENT_PATH_SIZE];
	snprintf(parent, sizeof parent, "%s/..", dir);
	if (mkdir(dir, 0700) == 0)
		return sync_directory(parent, log);
	return errno == EEXIST ? OK : fail(dir, "journal_directory_not_created", log);
}

/* Locks the directory and recovers its segments. Appends are refused until then. */
static void open_directory(struct journal *j)
{
	char path[JOURNAL_SEGMENT_PATH_SIZE];
	snprintf(path, sizeof path, "%s/lock", j->dir);
	if (journal_make_directory(j->dir, j->config.log) != OK)
		return;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0) {
		(void)fail(j->dir, "journal_directory_unusable", j->config.log);
		if (fd >= 0)
			close(fd);
		return;
	}
	j->lock_fd = fd;
	recover(j);
	atomic_store_explicit(&j->is_open, true, memory_order_release);
	atomic_store(&j->accepts_appends, true);
}

struct journal *journal_new(const struct journal_config *config)
{
	struct journal *j = mem_zero(sizeof *j);
	j->config = *config;
	j->lock_fd = -1;
	pthread_mutex_init(&j->standby_lock, NULL);
	snprintf(j->dir, sizeof j->dir, "%s", config->dir);
	j->window = mem_array(config->in_flight_max, sizeof *j->window);
	j->last = j->reading = &j->sentinel;
	open_directory(j);
	journal_maintain(j);
	return j;
}

/* --- the appender --- */

/* The segment for the next record: the standby, or a new one when the shipper was too slow. */
static enum err take_standby(struct journal *j, struct journal_segment **out)
{
	enum err err = OK;
	pthread_mutex_lock(&j->standby_lock);
	if (j->standby == NULL)
		err = atomic_load(&j->accepts_appends) ? create_segment(j, &j->standby) : ERR_LIMIT;
	if (err == OK) {
		*out = j->standby;
		j->standby = NULL;
	} else {
		atomic_store(&j->accepts_appends, false);
	}
	pthread_mutex_unlock(&j->standby_lock);
	return err;
}

enum err journal_append(struct journal *j, const void *bytes, size_t len)
{
	struct journal_segment *next;
	enum err err = ERR_LIMIT;
	if (!atomic_load_explicit(&j->is_open, memory_order_acquire))
		return ERR_LIMIT;
	/* Counted first: the record may be acked before this function returns. */
	atomic_fetch_add(&j->appended, 1);
	atomic_fetch_add(&j->held, journal_segment_record_bytes(len));
	bool has_own = is_own(j, j->last);
	if (has_own)
		err = journal_segment_append(j->last, bytes, len);
	if (err == ERR_LIMIT && take_standby(j, &next) == OK) {
		err = journal_segment_append(next, bytes, len);
		if (has_own)
			journal_segment_close(j->last);
		add_to_chain(j, next);
	}
	if (err != OK) {
		atomic_fetch_sub(&j->appended, 1);
		atomic_fetch_sub(&j->held, journal_segment_record_bytes(len));
	}
	return err;
}

/* --- the shipper --- */

static struct in_flight *slot(struct journal *j, uint64_t ack_id)
{
	return &j->window[ack_id % j->config.in_flight_max];
}

/* Advances the reader to the next segment. False: there is none yet. */
static bool advance_reading(struct journal *j)
{
	struct journal_segment *next =
		atomic_load_explicit(&j->reading->next, memory_order_acquire);
	if (next == NULL)
		return false;
	j->reading = next;
	return true;
}

bool journal_next(struct journal *j, struct journal_record *record)
{
	size_t end = 0;
	enum journal_segment_read read = JOURNAL_SEGMENT_END;
	if (j->next_ack_id - j->release_ack_id >= j->config.in_flight_max)
		return false;
	do {
		if (j->reading != &j->sentinel)
			read = journal_segment_next(j->reading, !is_own(j, j->reading),
			                            &record->bytes, &record->len, &end);
	} while (read == JOURNAL_SEGMENT_END && advance_reading(j));
	if (read != JOURNAL_SEGMENT_RECORD)
		return false;
	struct in_flight *entry = slot(j, j->next_ack_id);
	entry->segment = j->reading;
	entry->end = end;
	entry->bytes = record->bytes;
	entry->len = (uint32_t)record->len;
	atomic_store_explicit(&entry->is_acked, false, memory_order_relaxed);
	record->ack_id = j->next_ack_id++;
	return true;
}

void journal_ack(struct journal *j, uint64_t ack_id)
{
	atomic_store_explicit(&slot(j, ack_id)->is_acked, true, memory_order_release);
	atomic_fetch_add(&j->acked, 1);
}

/* Recovered segments are held as a whole, until they are removed. */
static void release(struct journal *j, const struct in_flight *entry)
{
	journal_segment_release(entry->segment, entry->end);
	if (!is_own(j, entry->segment))
		return;
	atomic_fetch_sub(&j->held, journal_segment_record_bytes(entry->len));
	if (j->config.on_released)
		j->config.on_released(j->config.ctx, entry->bytes, entry->len);
}

/* Releases the acked records that have no unacked record before them. */
static void release_acked(struct journal *j)
{
	while (j->release_ack_id < j->next_ack_id) {
		struct in_flight *oldest = slot(j, j->release_ack_id);
		if (!atomic_load_explicit(&oldest->is_acked, memory_order_acquire))
			break;
		release(j, oldest);
		j->release_ack_id++;
	}
}

static void remove_segment(struct journal *j, struct journal_segment *s)
{
	if (!s)
		return;
	atomic_fetch_sub(&j->bytes, s->size);
	journal_segment_free(s, true);
}

/* Keeps one spare. The others, left from a Kafka outage, are deleted. */
static void keep_or_remove(struct journal *j, struct journal_segment *s)
{
	bool is_whole = s->size == j->config.segment_bytes;
	if (j->spare || !is_whole)
		remove_segment(j, s);
	else
		j->spare = s;
}

static void remove_released_segments(struct journal *j)
{
	struct journal_segment *in_use = j->release_ack_id < j->next_ack_id
	                                         ? slot(j, j->release_ack_id)->segment
	                                         : j->reading;
	struct journal_segment *front;
	if (in_use == &j->sentinel)
		return;
	while ((front = atomic_load(&j->sentinel.next)) != in_use) {
		atomic_store(&j->sentinel.next, atomic_load(&front->next));
		if (!is_own(j, front))
			atomic_fetch_sub(&j->held, front->size);
		keep_or_remove(j, front);
	}
}

/* Call it with the standby lock held. */
static enum err create_standby(struct journal *j)
{
	struct journal_segment *spare = j->spare;
	j->spare = NULL;
	if (!spare)
		return create_segment(j, &j->standby);
	enum err err = journal_segment_reuse(spare, j->dir, atomic_fetch_add(&j->next_number, 1),
	                                     j->config.log);
	atomic_store(&j->is_broken, err != OK);
	if (err == OK) {
		j->standby = spare;
		atomic_store(&j->has_new_names, true);
	} else {
		remove_segment(j, spare);
	}
	return err;
}

/* A new file is retried after RETRY_US. A spare segment is used at once, even on a full disk. */
static void prepare_standby(struct journal *j, int64_t now_us)
{
	if (!atomic_load(&j->accepts_appends) && !j->spare && now_us < j->retry_at_us)
		return;
	pthread_mutex_lock(&j->standby_lock);
	bool is_ready = j->standby != NULL || create_standby(j) == OK;
	if (!is_ready)
		j->retry_at_us = now_us + RETRY_US;
	atomic_store(&j->accepts_appends, is_ready);
	pthread_mutex_unlock(&j->standby_lock);
}

static enum err sync_names(struct journal *j)
{
	if (!atomic_exchange(&j->has_new_names, false))
		return OK;
	enum err err = sync_directory(j->dir, j->config.log);
	if (err != OK)
		atomic_store(&j->has_new_names, true);
	return err;
}

/*
 * From the oldest segment that is not released: what has been read may not be acked. The names come
 * first, because a file without its name is lost.
 */
static void sync_all(struct journal *j)
{
	struct journal_segment *next;
	enum err err = sync_names(j);
	for (struct journal_segment *s = atomic_load(&j->sentinel.next); s != NULL; s = next) {
		next = atomic_load_explicit(&s->next, memory_order_acquire);
		enum err synced = journal_segment_sync(s, next != NULL, j->config.log);
		err = err == OK ? synced : err;
	}
	atomic_store(&j->is_sync_failing, err != OK);
}

static void sync_if_due(struct journal *j, int64_t now_us)
{
	if (j->config.fsync_ms == 0 ||
	    now_us - j->synced_at_us < j->config.fsync_ms * CLOCK_US_PER_MS)
		return;
	sync_all(j);
	j->synced_at_us = now_us;
}

void journal_maintain(struct journal *j)
{
	int64_t now_us = clock_steady_us(j->config.clock);
	if (!atomic_load(&j->is_open)) {
		if (now_us < j->retry_at_us)
			return;
		j->retry_at_us = now_us + RETRY_US;
		open_directory(j);
		if (!atomic_load(&j->is_open))
			return;
	}
	release_acked(j);
	remove_released_segments(j);
	prepare_standby(j, now_us);
	sync_if_due(j, now_us);
}

void journal_free(struct journal *j)
{
	struct journal_segment *s, *next;
	if (j == NULL)
		return;
	release_acked(j);
	bool is_drained = atomic_load(&j->acked) == atomic_load(&j->appended);
	if (!is_drained && j->config.fsync_ms > 0)
		sync_all(j);
	for (s = atomic_load(&j->sentinel.next); s != NULL; s = next) {
		next = atomic_load(&s->next);
		journal_segment_free(s, is_drained);
	}
	journal_segment_free(j->standby, true);
	journal_segment_free(j->spare, true);
	pthread_mutex_destroy(&j->standby_lock);
	if (j->lock_fd >= 0)
		close(j->lock_fd);
	free(j->window);
	free(j);
}

bool journal_accepts_appends(const struct journal *j)
{
	return atomic_load(&j->accepts_appends);
}

bool journal_is_healthy(const struct journal *j)
{
	return atomic_load(&j->is_open) && !atomic_load(&j->is_broken) &&
	       !atomic_load(&j->is_sync_failing);
}

struct journal_counts journal_count(const struct journal *j)
{
	struct journal_counts counts = { .acked = atomic_load(&j->acked) };
	counts.appended = atomic_load(&j->appended);
	counts.bytes = atomic_load(&j->bytes);
	counts.held = atomic_load(&j->held);
	return counts;
}
