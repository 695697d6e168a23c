#include "tests/support/test_folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

void test_folder_make(char path[static TEST_FOLDER_SIZE])
{
	snprintf(path, TEST_FOLDER_SIZE, "/tmp/waymark-test-XXXXXX");
	if (!mkdtemp(path)) {
		perror(path);
		abort();
	}
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	(void)st;
	(void)type;
	(void)walk;
	return remove(path);
}

void test_folder_remove(const char *path)
{
	if (nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0)
		perror(path);
}
