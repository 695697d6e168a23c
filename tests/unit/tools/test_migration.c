#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "tests/support/test.h"
#include "tools/migrate/migration.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

TEST_CASE(reads_version_and_name_from_the_file_name)
{
	struct migration m;
	char file[MIGRATION_FILE_SIZE];
	assert_int_equal(migration_parse_file("0042_add_2_tags.sql", &m), OK);
	assert_int_equal(m.version, 42);
	assert_string_equal(m.name, "add_2_tags");
	migration_format_file(&m, file);
	assert_string_equal(file, "0042_add_2_tags.sql");
}

TEST_CASE(refuses_file_names_of_another_form)
{
	static const char *const wrong[] = {
		"0000_x.sql",
		"1_x.sql",
		"00001_x.sql",
		"0001-x.sql",
		"0001_X.sql",
		"0001_.sql",
		"0001_x.SQL",
		"0001_x y.sql",
		"x0001_x.sql",
		"0001_x",
		".sql",
		"",
		"0001_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.sql",
	};
	struct migration m;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		if (migration_parse_file(wrong[i], &m) != ERR_INVALID)
			fail_msg("accepted %s", wrong[i]);
	}
}

static struct migration_folder *folder_of(size_t count, const struct migration *migrations)
{
	struct migration_folder *folder = mem_zero(sizeof(*folder));
	folder->count = count;
	for (size_t i = 0; i < count; i++)
		folder->files[i].migration = migrations[i];
	return folder;
}

static enum err compare_state(size_t file_count, const struct migration *files, size_t count,
                              const struct migration *recorded, struct migration_state *out,
                              struct strbuf *problems)
{
	struct migration_folder *folder = folder_of(file_count, files);
	strbuf_init(problems, 4096);
	enum err err = migration_compare(folder, recorded, count, out, problems);
	free(folder);
	assert_true(err == OK || err == ERR_CONFLICT);
	assert_int_equal(err == OK, problems->len == 0);
	return err;
}

/* Compares and returns the index of the first pending file, or -1 and the problems. */
static int compare(size_t file_count, const struct migration *files, size_t count,
                   const struct migration *recorded, struct strbuf *problems)
{
	struct migration_state found = { 0 };
	enum err err = compare_state(file_count, files, count, recorded, &found, problems);
	return err == OK ? (int)found.next : -1;
}

TEST_CASE(finds_the_pending_files)
{
	const struct migration files[] = { { 1, "a", A }, { 2, "b", B }, { 4, "d", A } };
	struct strbuf problems;
	for (int applied = 0; applied <= 3; applied++) {
		assert_int_equal(compare(3, files, (size_t)applied, files, &problems), applied);
		strbuf_clear(&problems);
	}
}

TEST_CASE(refuses_a_changed_file_with_both_checksums)
{
	const struct migration files[] = { { 1, "a", A }, { 2, "b", B } };
	const struct migration recorded[] = { { 1, "a", B } };
	struct strbuf problems;
	assert_int_equal(compare(2, files, 1, recorded, &problems), -1);
	assert_string_equal(problems.data,
	                    "0001_a.sql: was changed after it was applied (recorded sha256 " B
	                    ", file sha256 " A ")\n");
	strbuf_clear(&problems);
}

TEST_CASE(refuses_a_missing_file_that_is_older_than_another_one)
{
	const struct migration all[] = { { 1, "a", A }, { 2, "b", B }, { 3, "c", A } };
	const struct migration without[2][2] = { { all[1], all[2] }, { all[0], all[2] } };
	struct strbuf problems;
	for (size_t i = 0; i < 2; i++) {
		char file[MIGRATION_FILE_SIZE];
		migration_format_file(&all[i], file);
		assert_int_equal(compare(2, without[i], 3, all, &problems), -1);
		assert_ptr_equal(strstr(problems.data, file), problems.data);
		assert_non_null(strstr(problems.data, "is missing"));
		assert_non_null(strstr(problems.data, all[i].sha256));
		strbuf_clear(&problems);
	}
}

TEST_CASE(refuses_a_folder_without_files_if_any_were_applied)
{
	const struct migration recorded[] = { { 1, "a", A } };
	struct strbuf problems;
	assert_int_equal(compare(0, NULL, 1, recorded, &problems), -1);
	assert_non_null(strstr(problems.data, "0001_a.sql: was applied, but the file is missing"));
	strbuf_clear(&problems);
}

TEST_CASE(counts_the_migrations_of_a_newer_version)
{
	const struct migration all[] = {
		{ 1, "a", A }, { 2, "b", B }, { 3, "c", A }, { 5, "e", B }
	};
	struct strbuf problems;
	for (size_t files = 1; files <= 4; files++) {
		struct migration_state found = { 0 };
		assert_int_equal(compare_state(files, all, 4, all, &found, &problems), OK);
		assert_int_equal(found.next, files);
		assert_int_equal(found.newer, 4 - files);
		strbuf_clear(&problems);
	}
}

TEST_CASE(refuses_an_older_version_with_a_changed_file)
{
	const struct migration files[] = { { 1, "a", A }, { 2, "b", A } };
	const struct migration recorded[] = { { 1, "a", A }, { 2, "b", B }, { 3, "c", A } };
	struct strbuf problems;
	assert_int_equal(compare(2, files, 3, recorded, &problems), -1);
	assert_non_null(strstr(problems.data, "0002_b.sql: was changed after it was applied"));
	assert_null(strstr(problems.data, "0003_c.sql"));
	strbuf_clear(&problems);
}

TEST_CASE(refuses_an_older_version_with_a_file_that_was_not_applied)
{
	const struct migration files[] = { { 1, "a", A }, { 2, "b", B } };
	const struct migration recorded[] = { { 1, "a", A }, { 3, "c", A } };
	struct strbuf problems;
	assert_int_equal(compare(2, files, 2, recorded, &problems), -1);
	assert_non_null(
		strstr(problems.data,
	               "0002_b.sql: is out of order, because version 0003 is applied already"));
	strbuf_clear(&problems);
}

TEST_CASE(refuses_a_renamed_file)
{
	const struct migration files[] = { { 1, "new", A } };
	const struct migration recorded[] = { { 1, "old", A } };
	struct strbuf problems;
	assert_int_equal(compare(1, files, 1, recorded, &problems), -1);
	assert_non_null(
		strstr(problems.data, "0001_old.sql: was applied, but is now named 0001_new.sql"));
	strbuf_clear(&problems);
}

TEST_CASE(refuses_a_new_file_with_an_old_version)
{
	const struct migration files[] = { { 1, "a", A }, { 2, "late", B }, { 3, "c", A } };
	const struct migration recorded[] = { { 1, "a", A }, { 3, "c", A } };
	struct strbuf problems;
	assert_int_equal(compare(3, files, 2, recorded, &problems), -1);
	assert_non_null(
		strstr(problems.data,
	               "0002_late.sql: is out of order, because version 0003 is applied already"));
	strbuf_clear(&problems);
}

struct folder {
	char path[64];
};

static int set_up(void **state)
{
	struct folder *f = mem_zero(sizeof(*f));
	snprintf(f->path, sizeof(f->path), "/tmp/test_migration.XXXXXX");
	*state = f;
	return mkdtemp(f->path) ? 0 : -1;
}

static int tear_down(void **state)
{
	struct folder *f = *state;
	DIR *folder = opendir(f->path);
	const struct dirent *entry;
	while ((entry = readdir(folder)))
		unlinkat(dirfd(folder), entry->d_name, 0);
	closedir(folder);
	int rc = rmdir(f->path);
	free(f);
	return rc;
}

static void put(const struct folder *f, const char *file, const char *bytes, size_t len)
{
	char path[160];
	snprintf(path, sizeof(path), "%s/%s", f->path, file);
	FILE *out = fopen(path, "we");
	assert_non_null(out);
	assert_int_equal(fwrite(bytes, 1, len, out), len);
	assert_int_equal(fclose(out), 0);
}

TEST_CASE_WITH(orders_the_files_by_version, set_up, tear_down)
{
	const struct folder *f = *state;
	put(f, "0010_ten.sql", "SELECT 10;", 10);
	put(f, "0002_two.sql", "abc", 3);
	put(f, "README.md", "x", 1);
	struct strbuf problems;
	strbuf_init(&problems, 4096);
	struct migration_folder *folder = NULL;
	assert_int_equal(migration_folder_read(f->path, &folder, &problems), OK);
	assert_int_equal(folder->count, 2);
	assert_int_equal(folder->files[0].migration.version, 2);
	assert_string_equal(folder->files[0].sql, "abc");
	assert_string_equal(folder->files[0].migration.sha256,
	                    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_int_equal(folder->files[1].migration.version, 10);
	migration_folder_free(folder);
	strbuf_clear(&problems);
}

TEST_CASE_WITH(lists_every_invalid_file, set_up, tear_down)
{
	const struct folder *f = *state;
	put(f, "0001_a.sql", "SELECT 1", 8);
	put(f, "0001_b.sql", "SELECT 1", 8);
	put(f, "0003_empty.sql", "", 0);
	put(f, "0004_nul.sql", "a\0b", 3);
	put(f, "five.sql", "SELECT 5", 8);
	struct strbuf problems;
	strbuf_init(&problems, 4096);
	struct migration_folder *folder = NULL;
	assert_int_equal(migration_folder_read(f->path, &folder, &problems), ERR_INVALID);
	assert_non_null(
		strstr(problems.data, "0001_a.sql and 0001_b.sql: must not have the same version"));
	assert_non_null(strstr(problems.data, "0003_empty.sql: "));
	assert_non_null(strstr(problems.data, "0004_nul.sql: "));
	assert_non_null(strstr(problems.data, "five.sql: must be named"));
	strbuf_clear(&problems);
}

TEST_CASE(names_a_folder_that_does_not_exist)
{
	struct strbuf problems;
	strbuf_init(&problems, 4096);
	struct migration_folder *folder = NULL;
	assert_int_equal(migration_folder_read("/nowhere/at/all", &folder, &problems), ERR_INVALID);
	assert_string_equal(problems.data, "/nowhere/at/all: No such file or directory\n");
	strbuf_clear(&problems);
}

TEST_MAIN()
