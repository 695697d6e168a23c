#include "services/links-api/outbox/outbox_progress.h"

#include "lib/base/clock.h"

void outbox_progress_init(struct outbox_progress *progress, struct outbox_publisher *publisher, struct metrics *metrics)
{
	*progress = (struct outbox_progress){ .publisher = publisher };
	progress->marks = metrics_counter(metrics, "waymark_outbox_progress_marks_total",
	                                  "Rounds in which every partition was told how far the topic has come", NULL);
}

enum err outbox_progress_begin(struct outbox_progress *progress, struct pg_conn *conn, int64_t now_steady_us)
{
	progress->as_of_us = 0;
	if (now_steady_us < progress->due_steady_us)
		return OK;
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, "SELECT clock_timestamp()", NULL, &rows);
	if (err == OK)
		progress->as_of_us = pg_result_time(rows, 0, 0);
	pg_result_free(rows);
	return err;
}

void outbox_progress_tell(struct outbox_progress *progress, int64_t generation, int64_t now_steady_us)
{
	if (progress->as_of_us == 0)
		return;
	progress->due_steady_us = now_steady_us + OUTBOX_PROGRESS_MS * CLOCK_US_PER_MS;
	if (outbox_publisher_mark(progress->publisher, progress->as_of_us, generation) == OK)
		metrics_add(progress->marks, 1);
	progress->as_of_us = 0;
}

int64_t outbox_progress_wait_ms(const struct outbox_progress *progress, int64_t now_steady_us)
{
	int64_t ms = (progress->due_steady_us - now_steady_us) / CLOCK_US_PER_MS;
	return ms < 1 ? 1 : ms > OUTBOX_PROGRESS_MS ? OUTBOX_PROGRESS_MS : ms;
}
