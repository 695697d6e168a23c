#include "services/janitor/retention/partitions.h"

#include "services/janitor/retention/calendar.h"
#include "services/janitor/retention/partition_store.h"

/* Attempts to catch up with writers before the next run continues. */
#define FINISH_ATTEMPTS 100

static struct partition_store_window window_of(const struct run *run)
{
	int32_t today = calendar_today(run);
	return (struct partition_store_window){ .oldest = calendar_oldest_kept_day(run),
		                                .today = today,
		                                .newest = today + PARTITIONS_AHEAD_DAYS };
}

static enum err delete_expired_strays(const struct run *run, int64_t *changed)
{
	return partition_store_delete_expired_strays(run->conn, calendar_oldest_kept_day(run),
	                                             RUN_BATCH_ROWS, changed);
}

/*
 * One partition per transaction, so that its locks are held as briefly as possible. ERR_NOT_FOUND:
 * the strays have to be sorted first.
 */
static enum err create(const struct run *run, int64_t *changed)
{
	struct partition_store_window window = window_of(run);
	enum partition_store_outcome outcome = PARTITION_STORE_NONE_MISSING;
	enum err err = partition_store_create(run->conn, &window, &outcome);
	*changed = outcome == PARTITION_STORE_CREATED;
	return err == OK && outcome == PARTITION_STORE_NEEDS_SORTING ? ERR_NOT_FOUND : err;
}

static enum err begin(const struct run *run, int64_t *changed)
{
	struct partition_store_window window = window_of(run);
	*changed = 0;
	return partition_store_sort_begin(run->conn, &window);
}

static enum err copy(const struct run *run, int64_t *changed)
{
	return partition_store_sort_copy(run->conn, RUN_BATCH_ROWS, changed);
}

static enum err catch_up(const struct run *run, int64_t *changed)
{
	return partition_store_sort_catch_up(run->conn, RUN_BATCH_ROWS, changed);
}

static enum err finish(const struct run *run, int64_t *changed)
{
	bool finished = false;
	enum err err = partition_store_sort_finish(run->conn, RUN_BATCH_ROWS, &finished);
	*changed = finished;
	return err;
}

static enum err sort(struct run *run, int64_t *changed)
{
	int64_t finished = 0;
	enum err err = run_batch(run, begin, changed);
	if (err == OK)
		err = run_batches(run, copy, changed);
	for (int i = 0; err == OK && finished == 0; i++) {
		if (i == FINISH_ATTEMPTS)
			return ERR_LIMIT;
		err = run_batches(run, catch_up, changed);
		if (err == OK && run->is_interrupted)
			return OK;
		if (err == OK)
			err = run_batch(run, finish, &finished);
	}
	return err;
}

enum err partitions_run(struct run *run, int64_t *changed)
{
	enum err err = calendar_check_skew(run);
	if (err == OK)
		err = run_batches(run, delete_expired_strays, changed);
	if (err == OK && !run->is_interrupted)
		err = run_until_unchanged(run, create, changed);
	if (err == ERR_NOT_FOUND) {
		err = sort(run, changed);
		if (err == OK && !run->is_interrupted)
			err = run_until_unchanged(run, create, changed);
	}
	/* There are too many strays again already: the next run sorts them. */
	return err == ERR_NOT_FOUND ? ERR_LIMIT : err;
}
