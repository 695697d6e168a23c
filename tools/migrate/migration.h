/*
 * Pure, except for migration_folder_read. The files db/migrations/NNNN_name.sql, and their
 * comparison with the migrations that a database has recorded.
 */
#ifndef WAYMARK_TOOLS_MIGRATE_MIGRATION_H
#define WAYMARK_TOOLS_MIGRATE_MIGRATION_H

#include <stdint.h>

#include "lib/base/digest.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"

#define MIGRATION_NAME_SIZE 64
#define MIGRATION_FILE_SIZE (MIGRATION_NAME_SIZE + 16)
#define MIGRATION_SHA256_SIZE (2 * DIGEST_SIZE + 1)
#define MIGRATION_SQL_MAX (4 * 1024 * 1024)
#define MIGRATIONS_MAX 1000

/* The record of an applied migration. */
struct migration {
	/* NNNN, 1 to 9999. */
	int64_t version;
	/* "links". */
	char name[MIGRATION_NAME_SIZE];
	/* Of the file's bytes. */
	char sha256[MIGRATION_SHA256_SIZE];
};

struct migration_file {
	struct migration migration;
	char *sql;
};

/* Ordered by version. */
struct migration_folder {
	size_t count;
	struct migration_file files[MIGRATIONS_MAX];
};

/* "0003_links.sql" */
void migration_format_file(const struct migration *m, char out[static MIGRATION_FILE_SIZE]);

/*
 * Reads version and name ([a-z0-9_]) from "0003_links.sql". ERR_INVALID: the name has another form.
 */
enum err migration_parse_file(const char *file, struct migration *m) MUST_CHECK;

/*
 * Reads every *.sql of the folder at path. ERR_INVALID, with one line per problem in problems: a
 * file name of another form; a version used twice; a file that is empty, not text or larger than
 * MIGRATION_SQL_MAX; no such folder.
 */
enum err migration_folder_read(const char *path, struct migration_folder **out,
                               struct strbuf *problems) MUST_CHECK;
void migration_folder_free(struct migration_folder *folder);

/* What the recorded migrations of a database mean for a folder. */
struct migration_state {
	/* The files from this index on are pending. */
	size_t next;
	/* Records that are newer than every file; with any, no file is pending. */
	size_t newer;
};

/*
 * Compares the folder with the recorded migrations, which are ordered by version. OK: one continues
 * the other. ERR_CONFLICT, with one line per problem in problems:
 * - the file of a recorded migration is renamed or changed;
 * - it is missing, although there is a newer file, or no file at all;
 * - a file older than the last recorded one is not recorded.
 */
enum err migration_compare(const struct migration_folder *folder, const struct migration *recorded,
                           size_t count, struct migration_state *out,
                           struct strbuf *problems) MUST_CHECK;

#endif
