/*
 * One thread at a time. What a load did and saw, operation by operation: the history from which the checker proves that
 * redirectors are fresh. A file is a head and records of one kind in the machine's byte order. Times are microseconds
 * of CLOCK_MONOTONIC, one clock for all that runs on the machine. A destination is https://t.example/LINK/NUMBER, so
 * what a reader is shown names the change that made it.
 */
#ifndef WAYMARK_TESTS_CHAOS_FRESHNESS_HISTORY_H
#define WAYMARK_TESTS_CHAOS_FRESHNESS_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTORY_SLUG_SIZE 20
#define HISTORY_LINKS_MAX (UINT32_C(1) << 20)
/* A change that nobody has acknowledged. */
#define HISTORY_NEVER_US INT64_MAX

enum history_kind { HISTORY_CHANGES = 1, HISTORY_READS = 2 };

/* What a writer wanted. All but DELETE, RESTORE and LOOK write a new destination. */
enum history_act {
	HISTORY_CREATE = 1,
	HISTORY_EDIT,   /* never expires from then on */
	HISTORY_EXPIRE, /* is given a time to expire at */
	HISTORY_DISABLE,
	HISTORY_ENABLE, /* never expires from then on */
	HISTORY_DELETE,
	HISTORY_RESTORE,
	HISTORY_LOOK, /* asked the API what became of a change: destination and is_deleted are the answer */
};

enum history_outcome {
	HISTORY_ACKED = 1,
	HISTORY_REFUSED, /* it was not done and never will be */
	HISTORY_UNKNOWN, /* it may have been done, or may be yet */
};

/*
 * Of one link, in the order of begin_us: each link has one writer. If-Match keeps an unknown change from coming late.
 */
struct history_change {
	int64_t begin_us;
	int64_t end_us;     /* of the answer, or of the waiting for it */
	int64_t expires_us; /* 0 = never */
	uint32_t link;
	uint32_t destination;
	uint32_t version; /* the API's; 0 = not told */
	uint16_t status;  /* of the answer; 0 = there was none */
	uint8_t act;
	uint8_t outcome;
	bool is_deleted;
	char slug[HISTORY_SLUG_SIZE];
};

struct history_read {
	int64_t begin_us;
	uint32_t lasted_us;
	uint32_t link;
	uint32_t destination; /* that Location named; 0 = none of ours */
	uint16_t status;      /* 0 = there was no answer */
	uint16_t redirector;  /* from 1 */
};

struct history_log;

/* NULL: the file cannot be written. */
struct history_log *history_log_new(const char *path, enum history_kind kind);
/* Aborts when not everything could be written: a history with a gap would prove nothing. */
void history_log_free(struct history_log *log);
void history_log_change(struct history_log *log, const struct history_change *change);
void history_log_read(struct history_log *log, const struct history_read *read);

/* Borrowed. */
typedef void (*history_change_seen)(void *ctx, const struct history_change *change);
typedef void (*history_read_seen)(void *ctx, const struct history_read *read);

/* Tells every record in the order of the file; false: it is none of its kind or cut short, and stderr says so. */
bool history_each_change(const char *path, history_change_seen seen, void *ctx);
bool history_each_read(const char *path, history_read_seen seen, void *ctx);

/* HISTORY_REFUSED, … as words of a report. */
const char *history_act_name(enum history_act act);
const char *history_outcome_name(enum history_outcome outcome);

#endif
