/*
 * A history: every operation of a load, from which the checker proves that redirectors are fresh. A
 * file is a head and records of one kind in the machine's byte order. Times are microseconds of
 * CLOCK_MONOTONIC, one clock for the whole machine. A destination is https://t.example/LINK/NUMBER,
 * so an answer names the change that made it. Rules and splits lead there too, and original_url leads
 * nowhere then. One thread at a time.
 */
#ifndef WAYMARK_TESTS_CHAOS_FRESHNESS_HISTORY_H
#define WAYMARK_TESTS_CHAOS_FRESHNESS_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTORY_SLUG_SIZE 20
#define HISTORY_LINKS_MAX (UINT32_C(1) << 20)
/* The end of a change that was not acknowledged. */
#define HISTORY_NEVER_US INT64_MAX

enum history_kind { HISTORY_CHANGES = 1, HISTORY_READS = 2 };

/* The request of an editor. All but DELETE, RESTORE and LOOK write a new destination. */
enum history_act {
	HISTORY_CREATE = 1,
	HISTORY_EDIT,   /* the link never expires from then on */
	HISTORY_EXPIRE, /* the link gets a time of expiry */
	HISTORY_DISABLE,
	HISTORY_ENABLE, /* the link never expires from then on */
	HISTORY_DELETE,
	HISTORY_RESTORE,
	HISTORY_LOOK, /* reads the outcome of a change: destination and is_deleted are the answer */
};

enum history_outcome {
	HISTORY_ACKED = 1,
	HISTORY_REFUSED, /* not made, now or later */
	HISTORY_UNKNOWN, /* made, still to be made, or never */
};

/*
 * The changes of a link are in the order of begin_us, because each link has one editor. If-Match
 * prevents that an unknown change is made late.
 */
struct history_change {
	int64_t begin_us;
	/* When the answer came, or the waiting ended. */
	int64_t end_us;
	/* 0 = never. */
	int64_t expires_us;
	uint32_t link;
	uint32_t destination;
	/* Of the link after the change; 0 = unknown. */
	uint32_t version;
	/* Of the answer; 0 = no answer. */
	uint16_t status;
	uint8_t act;
	uint8_t outcome;
	bool is_deleted;
	/* Visitors are asked for a password. */
	bool is_locked;
	char slug[HISTORY_SLUG_SIZE];
};

struct history_read {
	int64_t begin_us;
	uint32_t lasted_us;
	uint32_t link;
	/* In Location; 0 = none of this history. */
	uint32_t destination;
	/* 0 = no answer. */
	uint16_t status;
	/* From 1. */
	uint16_t redirector;
};

struct history_log;

/* Returns NULL if the file cannot be written. */
struct history_log *history_log_new(const char *path, enum history_kind kind);
/* Aborts if not everything could be written, because a history with a gap proves nothing. */
void history_log_free(struct history_log *log);
void history_log_change(struct history_log *log, const struct history_change *change);
void history_log_read(struct history_log *log, const struct history_read *read);

/* Borrowed. */
typedef void (*history_change_seen)(void *ctx, const struct history_change *change);
typedef void (*history_read_seen)(void *ctx, const struct history_read *read);

/*
 * Calls seen for every record in the order of the file. Returns false, with the reason on stderr,
 * if the file has another kind or ends within a record.
 */
bool history_each_change(const char *path, history_change_seen seen, void *ctx);
bool history_each_read(const char *path, history_read_seen seen, void *ctx);

#endif
