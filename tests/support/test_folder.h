/*
 * Safe from any thread. Folders of a test's own.
 */
#ifndef WAYMARK_TESTS_SUPPORT_TEST_FOLDER_H
#define WAYMARK_TESTS_SUPPORT_TEST_FOLDER_H

#define TEST_FOLDER_SIZE 64

/* Makes an empty folder. Aborts if that cannot be done. */
void test_folder_make(char path[static TEST_FOLDER_SIZE]);

/* Removes it with everything in it. */
void test_folder_remove(const char *path);

#endif
