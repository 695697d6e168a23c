#include "services/janitor/partitions.h"

#include "services/janitor/calendar.h"
#include "services/janitor/partition_store.h"

/* How often we catch up with writers before we leave it to the next run. */
#define FINISH_ATTEMPTS 100

static struct partition_store_window window_of(const struct run *run)
{
	int32_t today = calendar_today(run);
	return (struct partition_store_window){ .oldest = calendar_oldest_visits(run),
		                                .today = today,
		                                .newest = today + PARTITIONS_AHEAD_DAYS };
}

static enum err forget_astray(const struct run *run, int64_t *changed)
{
	return partition_store_forget_astray(run->conn, calendar_oldest_visits(run), RUN_BATCH_ROWS, changed);
}

/*
 * Counts one for a partition that it made, one day per transaction: its locks are held for as short as can be.
 * ERR_NOT_FOUND: sort first.
 */
static enum err make(const struct run *run, int64_t *changed)
{
	struct partition_store_window window = window_of(run);
	enum partition_store_outcome outcome = PARTITION_STORE_NONE_MISSING;
	enum err err = partition_store_make(run->conn, &window, &outcome);
	*changed = outcome == PARTITION_STORE_MADE;
	return err == OK && outcome == PARTITION_STORE_CROWDED ? ERR_NOT_FOUND : err;
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

/* Counts one when it is done. */
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
		if (err == OK && run->interrupted)
			return OK;
		if (err == OK)
			err = run_batch(run, finish, &finished);
	}
	return err;
}

enum err partitions_run(struct run *run, int64_t *changed)
{
	enum err err = calendar_check(run);
	if (err == OK)
		err = run_batches(run, forget_astray, changed);
	if (err == OK && !run->interrupted)
		err = run_while_changing(run, make, changed);
	if (err == ERR_NOT_FOUND) {
		err = sort(run, changed);
		if (err == OK && !run->interrupted)
			err = run_while_changing(run, make, changed);
	}
	/* Crowded again so soon: for the next run. */
	return err == ERR_NOT_FOUND ? ERR_LIMIT : err;
}
