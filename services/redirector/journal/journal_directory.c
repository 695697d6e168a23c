#include "services/redirector/journal/journal_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/mem.h"

#define NUMBER_DIGITS 20

enum err journal_directory_sync(const char *dir, const struct log *log)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* EINVAL: the file system keeps names by other means. */
	if (fd >= 0 && (fsync(fd) == 0 || errno == EINVAL)) {
		close(fd);
		return OK;
	}
	log_error(log, "journal_directory_not_synced", LOG_TEXT("path", dir),
	          LOG_TEXT("error", strerrordesc_np(errno)));
	if (fd >= 0)
		close(fd);
	return ERR_UNAVAILABLE;
}

enum err journal_directory_make(const char *dir, const struct log *log)
{
	char parent[JOURNAL_SEGMENT_PATH_SIZE];
	snprintf(parent, sizeof parent, "%s/..", dir);
	if (mkdir(dir, 0700) == 0)
		return journal_directory_sync(parent, log);
	if (errno == EEXIST)
		return OK;
	log_error(log, "journal_directory_not_created", LOG_TEXT("path", dir),
	          LOG_TEXT("error", strerrordesc_np(errno)));
	return ERR_UNAVAILABLE;
}

enum err journal_directory_lock(const char *dir, const struct log *log, int *lock_fd)
{
	char path[JOURNAL_SEGMENT_PATH_SIZE];
	snprintf(path, sizeof path, "%s/lock", dir);
	if (journal_directory_make(dir, log) != OK)
		return ERR_UNAVAILABLE;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
		*lock_fd = fd;
		return OK;
	}
	log_error(log, "journal_directory_unusable", LOG_TEXT("path", dir),
	          LOG_TEXT("error", strerrordesc_np(errno)));
	if (fd >= 0)
		close(fd);
	return ERR_UNAVAILABLE;
}

static bool is_segment_name(const char *name)
{
	return strlen(name) == NUMBER_DIGITS + 4 && strspn(name, "0123456789") == NUMBER_DIGITS &&
	       strcmp(name + NUMBER_DIGITS, ".seg") == 0;
}

static int is_segment(const struct dirent *entry)
{
	return is_segment_name(entry->d_name);
}

static void add_segment(struct journal_directory *directory, const char *path,
                        const struct log *log)
{
	struct journal_segment *s;
	uint64_t records;
	bool is_torn;
	if (journal_segment_open(path, log, &s) != OK)
		return;
	journal_segment_inspect(s, &records, &is_torn);
	log_info(log, "journal_segment_recovered", LOG_TEXT("path", path),
	         LOG_INT("records", records), LOG_INT("is_torn", is_torn));
	directory->records[directory->count] = records;
	directory->segments[directory->count++] = s;
}

void journal_directory_list(struct journal_directory *directory, const char *dir,
                            const struct log *log)
{
	struct dirent **entries = NULL;
	int found = scandir(dir, &entries, is_segment, alphasort);
	size_t count = found > 0 ? (size_t)found : 0;
	*directory = (struct journal_directory){
		.next_number = 1,
		.segments = mem_array(count + 1, sizeof *directory->segments),
		.records = mem_array(count + 1, sizeof *directory->records)
	};
	for (size_t i = 0; i < count; i++) {
		char path[JOURNAL_SEGMENT_PATH_SIZE];
		directory->next_number = strtoull(entries[i]->d_name, NULL, 10) + 1;
		snprintf(path, sizeof path, "%s/%s", dir, entries[i]->d_name);
		add_segment(directory, path, log);
		free(entries[i]);
	}
	free(entries);
}

void journal_directory_clear(struct journal_directory *directory)
{
	free(directory->segments);
	free(directory->records);
}
