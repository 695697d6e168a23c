#include "tools/migrate/migration.h"

#include <dirent.h>
#include <errno.h>

#include "lib/base/mem.h"
#include "lib/base/number.h"

void migration_format_file(const struct migration *m, char out[static MIGRATION_FILE_SIZE])
{
	snprintf(out, MIGRATION_FILE_SIZE, "%04lld_%s.sql", (long long)m->version, m->name);
}

enum err migration_parse_file(const char *file, struct migration *m)
{
	size_t len = strlen(file);
	if (len < sizeof("0001_a.sql") - 1 || len >= MIGRATION_NAME_SIZE ||
	    strcmp(file + len - 4, ".sql") != 0 || strspn(file, "0123456789") != 4 ||
	    file[4] != '_')
		return ERR_INVALID;
	size_t name_len = len - 9;
	if (strspn(file + 5, "abcdefghijklmnopqrstuvwxyz0123456789_") != name_len)
		return ERR_INVALID;
	char digits[5] = { file[0], file[1], file[2], file[3], '\0' };
	int64_t version = 0;
	if (number_parse(digits, 1, 9999, &version) != OK)
		return ERR_INVALID;
	*m = (struct migration){ .version = version };
	memcpy(m->name, file + 5, name_len);
	return OK;
}

static enum err read_sql(const char *path, const char *file, struct strbuf *sql)
{
	char *full = NULL;
	if (asprintf(&full, "%s/%s", path, file) < 0)
		abort();
	FILE *in = fopen(full, "rbe");
	free(full);
	if (!in)
		return ERR_INVALID;
	char chunk[4096];
	size_t n;
	while ((n = fread(chunk, 1, sizeof(chunk), in)) > 0)
		strbuf_add(sql, chunk, n);
	bool is_complete = !ferror(in);
	fclose(in);
	if (!is_complete || strbuf_status(sql) != OK || sql->len == 0 ||
	    strlen(sql->data) != sql->len)
		return ERR_INVALID;
	return OK;
}

static enum err read_file(const char *path, const char *file, struct migration_file *out,
                          struct strbuf *problems)
{
	struct migration m;
	if (migration_parse_file(file, &m) != OK) {
		strbuf_add_format(
			problems,
			"%s: must be named NNNN_name.sql (NNNN from 0001, name of a-z, 0-9, _)\n",
			file);
		return ERR_INVALID;
	}
	struct strbuf sql;
	strbuf_init(&sql, MIGRATION_SQL_MAX);
	if (read_sql(path, file, &sql) != OK) {
		strbuf_add_format(
			problems,
			"%s: must be a readable text file that is not empty and not too large\n",
			file);
		strbuf_clear(&sql);
		return ERR_INVALID;
	}
	uint8_t digest[DIGEST_SIZE];
	digest_sha256(sql.data, sql.len, digest);
	digest_hex(digest, DIGEST_SIZE, m.sha256);
	out->migration = m;
	out->sql = strbuf_take(&sql, NULL);
	strbuf_clear(&sql);
	return OK;
}

static int by_version(const void *a, const void *b)
{
	const struct migration_file *x = a;
	const struct migration_file *y = b;
	return (x->migration.version > y->migration.version) -
	       (x->migration.version < y->migration.version);
}

static int is_sql(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);
	return entry->d_name[0] != '.' && len > 4 && strcmp(entry->d_name + len - 4, ".sql") == 0;
}

static enum err check_versions(const struct migration_folder *folder, struct strbuf *problems)
{
	enum err err = OK;
	for (size_t i = 1; i < folder->count; i++) {
		char names[2][MIGRATION_FILE_SIZE];
		if (folder->files[i].migration.version != folder->files[i - 1].migration.version)
			continue;
		migration_format_file(&folder->files[i - 1].migration, names[0]);
		migration_format_file(&folder->files[i].migration, names[1]);
		strbuf_add_format(problems, "%s and %s: must not have the same version\n", names[0],
		                  names[1]);
		err = ERR_INVALID;
	}
	return err;
}

enum err migration_folder_read(const char *path, struct migration_folder **out,
                               struct strbuf *problems)
{
	struct dirent **entries = NULL;
	int n = scandir(path, &entries, is_sql, alphasort);
	if (n < 0) {
		strbuf_add_format(problems, "%s: %s\n", path, strerrordesc_np(errno));
		return ERR_INVALID;
	}
	struct migration_folder *folder = mem_zero(sizeof(*folder));
	enum err err = n > MIGRATIONS_MAX ? ERR_INVALID : OK;
	if (err != OK)
		strbuf_add_format(problems, "%s: has more than %d migrations\n", path,
		                  MIGRATIONS_MAX);
	for (int i = 0; i < n; i++) {
		if (n <= MIGRATIONS_MAX && read_file(path, entries[i]->d_name,
		                                     &folder->files[folder->count], problems) == OK)
			folder->count++;
		else
			err = ERR_INVALID;
		free(entries[i]);
	}
	free(entries);
	qsort(folder->files, folder->count, sizeof(folder->files[0]), by_version);
	if (check_versions(folder, problems) != OK)
		err = ERR_INVALID;
	if (err == OK)
		*out = folder;
	else
		migration_folder_free(folder);
	return err;
}

void migration_folder_free(struct migration_folder *folder)
{
	if (!folder)
		return;
	for (size_t i = 0; i < folder->count; i++)
		free(folder->files[i].sql);
	free(folder);
}

static enum err compare_one(const struct migration *recorded, const struct migration *found,
                            struct strbuf *problems)
{
	char file[MIGRATION_FILE_SIZE];
	migration_format_file(recorded, file);
	if (!found) {
		strbuf_add_format(problems,
		                  "%s: was applied, but the file is missing (recorded sha256 %s)\n",
		                  file, recorded->sha256);
		return ERR_CONFLICT;
	}
	if (strcmp(recorded->name, found->name) != 0) {
		char other[MIGRATION_FILE_SIZE];
		migration_format_file(found, other);
		strbuf_add_format(
			problems,
			"%s: was applied, but is now named %s (recorded sha256 %s, file sha256 %s)\n",
			file, other, recorded->sha256, found->sha256);
		return ERR_CONFLICT;
	}
	if (strcmp(recorded->sha256, found->sha256) != 0) {
		strbuf_add_format(
			problems,
			"%s: was changed after it was applied (recorded sha256 %s, file sha256 %s)\n",
			file, recorded->sha256, found->sha256);
		return ERR_CONFLICT;
	}
	return OK;
}

static enum err report_late(const struct migration *late, int64_t last, struct strbuf *problems)
{
	char file[MIGRATION_FILE_SIZE];
	migration_format_file(late, file);
	strbuf_add_format(
		problems,
		"%s: is out of order, because version %04lld is applied already (file sha256 %s)\n",
		file, (long long)last, late->sha256);
	return ERR_CONFLICT;
}

/* The records after the newest file. An empty folder is a mistake and not an old version. */
static size_t count_newer(const struct migration_folder *folder, const struct migration *recorded,
                          size_t count)
{
	size_t newer = 0;
	while (folder->count > 0 && newer < count &&
	       recorded[count - newer - 1].version >
	               folder->files[folder->count - 1].migration.version)
		newer++;
	return newer;
}

enum err migration_compare(const struct migration_folder *folder, const struct migration *recorded,
                           size_t count, struct migration_state *out, struct strbuf *problems)
{
	enum err err = OK;
	size_t f = 0;
	size_t newer = count_newer(folder, recorded, count);
	for (size_t r = 0; r < count; r++) {
		for (;
		     f < folder->count && folder->files[f].migration.version < recorded[r].version;
		     f++)
			err = report_late(&folder->files[f].migration, recorded[count - 1].version,
			                  problems);
		if (r >= count - newer)
			continue;
		bool has = f < folder->count &&
		           folder->files[f].migration.version == recorded[r].version;
		if (compare_one(&recorded[r], has ? &folder->files[f].migration : NULL, problems) !=
		    OK)
			err = ERR_CONFLICT;
		f += has;
	}
	if (err == OK)
		*out = (struct migration_state){ .next = f, .newer = newer };
	return err;
}
