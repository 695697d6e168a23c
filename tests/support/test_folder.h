/*
 * Temporary folders for tests. Safe from any thread.
 */
#ifndef WAYMARK_TESTS_SUPPORT_TEST_FOLDER_H
#define WAYMARK_TESTS_SUPPORT_TEST_FOLDER_H

#define TEST_FOLDER_SIZE 64

/* Creates an empty folder, or aborts. */
void test_folder_make(char path[static TEST_FOLDER_SIZE]);

/* Removes a folder and its content. */
void test_folder_remove(const char *path);

#endif
