/*
 * Pure but for migration_folder_read. The files db/migrations/NNNN_name.sql, and what the database remembers of them.
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

/* What is recorded of an applied one. */
struct migration {
	int64_t version;                    /* NNNN, 1 to 9999 */
	char name[MIGRATION_NAME_SIZE];     /* "links" */
	char sha256[MIGRATION_SHA256_SIZE]; /* of the file's bytes */
};

struct migration_file {
	struct migration migration;
	char *sql;
};

/* In the order of their versions. */
struct migration_folder {
	size_t count;
	struct migration_file files[MIGRATIONS_MAX];
};

/* "0003_links.sql" */
void migration_format_file(const struct migration *m, char out[static MIGRATION_FILE_SIZE]);

/* Reads version and name ([a-z0-9_]) from "0003_links.sql". ERR_INVALID: not of that form. */
enum err migration_parse_file(const char *file, struct migration *m) MUST_CHECK;

/*
 * Reads every *.sql of the folder at path. ERR_INVALID, with one line for each to problems: a name of another form, a
 * version that comes twice, a file that is empty, not text or larger than MIGRATION_SQL_MAX, or no folder at all.
 */
enum err migration_folder_read(const char *path, struct migration_folder **out, struct strbuf *problems) MUST_CHECK;
void migration_folder_free(struct migration_folder *folder);

/*
 * Whether the folder continues what the database recorded (in the order of versions). ERR_CONFLICT, with one line for
 * each to problems: a recorded file that is missing or has another checksum or name, a file that comes before the last
 * recorded one without being recorded. OK: the files from index *next on are pending.
 */
enum err migration_compare(const struct migration_folder *folder, const struct migration *recorded, size_t count,
                           size_t *next, struct strbuf *problems) MUST_CHECK;

#endif
