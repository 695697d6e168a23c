/*
 * Runs a fuzz target on every file of a folder: the corpus, with all inputs that ever triggered a
 * bug. Fails if the folder or its files are missing, so that a lost corpus is noticed.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/mem.h"

#define INPUT_MAX ((off_t)1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail(const char *path, const char *reason)
{
	fprintf(stderr, "%s: %s\n", path, reason);
	exit(1);
}

static bool is_visible(const char *name)
{
	return name[0] != '.';
}

static void replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct stat status;
	if (!file || fstat(fileno(file), &status) != 0)
		fail(path, strerrordesc_np(errno));
	if (!S_ISREG(status.st_mode) || status.st_size > INPUT_MAX)
		fail(path, "not a regular file of at most 1 MiB");

	/* Exactly as large as the input, so that AddressSanitizer detects any overread. */
	size_t size = (size_t)status.st_size;
	uint8_t *data = mem_zero(size);
	if (fread(data, 1, size, file) != size)
		fail(path, "cannot be read");
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		fail(argv[0], "give one folder");
	DIR *folder = opendir(argv[1]);
	if (!folder)
		fail(argv[1], strerrordesc_np(errno));

	size_t count = 0;
	for (const struct dirent *entry; (entry = readdir(folder));) {
		if (!is_visible(entry->d_name))
			continue;
		char path[PATH_MAX];
		snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
		/* Print the name first, so that a crash shows which input caused it. */
		printf("%s\n", path);
		fflush(stdout);
		replay_file(path);
		count++;
	}
	closedir(folder);
	if (count == 0)
		fail(argv[1], "no inputs");
	printf("%zu inputs replayed\n", count);
	return 0;
}
