#include "tests/chaos/freshness/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"

#define BLOCK_BYTES (1 << 20)

struct head {
	char magic[8];
	uint32_t kind;
	uint32_t record_bytes;
};

static const char magic[8] = "WMHIST1";

struct history_log {
	FILE *file;
	enum history_kind kind;
};

static uint32_t record_bytes(enum history_kind kind)
{
	return kind == HISTORY_CHANGES ? sizeof(struct history_change)
	                               : sizeof(struct history_read);
}

static struct head head_of(enum history_kind kind)
{
	struct head head = { .kind = kind, .record_bytes = record_bytes(kind) };
	memcpy(head.magic, magic, sizeof(magic));
	return head;
}

static void write_all(struct history_log *log, const void *bytes, size_t len)
{
	if (fwrite(bytes, len, 1, log->file) != 1)
		abort();
}

struct history_log *history_log_new(const char *path, enum history_kind kind)
{
	FILE *file = fopen(path, "wb");
	if (!file)
		return NULL;
	setvbuf(file, NULL, _IOFBF, BLOCK_BYTES);
	struct history_log *log = mem_zero(sizeof(*log));
	struct head head = head_of(kind);
	log->file = file;
	log->kind = kind;
	write_all(log, &head, sizeof(head));
	return log;
}

void history_log_free(struct history_log *log)
{
	if (!log)
		return;
	if (fclose(log->file) != 0)
		abort();
	free(log);
}

void history_log_change(struct history_log *log, const struct history_change *change)
{
	write_all(log, change, sizeof(*change));
}

void history_log_read(struct history_log *log, const struct history_read *read)
{
	write_all(log, read, sizeof(*read));
}

static bool complain(const char *path, const char *what)
{
	fprintf(stderr, "%s: %s\n", path, what);
	return false;
}

static FILE *open_history(const char *path, enum history_kind kind)
{
	struct head head, wanted = head_of(kind);
	FILE *file = fopen(path, "rb");
	if (!file) {
		perror(path);
		return NULL;
	}
	if (fread(&head, sizeof(head), 1, file) == 1 && memcmp(&head, &wanted, sizeof(head)) == 0)
		return file;
	complain(path, "is not a history of this kind");
	fclose(file);
	return NULL;
}

static void call_for_each(enum history_kind kind, const char *records, size_t count,
                          void (*seen)(void), void *ctx)
{
	for (size_t i = 0; i < count; i++) {
		const void *record = records + i * record_bytes(kind);
		if (kind == HISTORY_CHANGES)
			((history_change_seen)seen)(ctx, record);
		else
			((history_read_seen)seen)(ctx, record);
	}
}

static bool each(const char *path, enum history_kind kind, void (*seen)(void), void *ctx)
{
	FILE *file = open_history(path, kind);
	if (!file)
		return false;
	size_t bytes = record_bytes(kind), room = BLOCK_BYTES / bytes, got;
	char *records = mem_array(room, bytes);
	size_t total = 0;
	while ((got = fread(records, bytes, room, file)) > 0) {
		call_for_each(kind, records, got, seen, ctx);
		total += got;
	}
	fseek(file, 0, SEEK_END);
	bool is_whole = !ferror(file) && (size_t)ftell(file) == sizeof(struct head) + total * bytes;
	free(records);
	fclose(file);
	return is_whole || complain(path, "ends within a record");
}

bool history_each_change(const char *path, history_change_seen seen, void *ctx)
{
	return each(path, HISTORY_CHANGES, (void (*)(void))seen, ctx);
}

bool history_each_read(const char *path, history_read_seen seen, void *ctx)
{
	return each(path, HISTORY_READS, (void (*)(void))seen, ctx);
}
