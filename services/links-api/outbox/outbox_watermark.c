#include "services/links-api/outbox/outbox_watermark.h"

#include "lib/base/clock.h"

void outbox_watermark_init(struct outbox_watermark *watermark, struct outbox_publisher *publisher,
                           struct metrics *metrics)
{
	*watermark = (struct outbox_watermark){ .publisher = publisher };
	watermark->published = metrics_counter(metrics, "waymark_outbox_watermarks_total",
	                                       "Watermarks published to every partition", NULL);
}

enum err outbox_watermark_begin(struct outbox_watermark *watermark, struct pg_conn *conn,
                                int64_t now_steady_us)
{
	watermark->as_of_us = 0;
	if (now_steady_us < watermark->due_steady_us)
		return OK;
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, "SELECT clock_timestamp()", NULL, &rows);
	if (err == OK)
		watermark->as_of_us = pg_result_time(rows, 0, 0);
	pg_result_free(rows);
	return err;
}

void outbox_watermark_publish(struct outbox_watermark *watermark, int64_t generation,
                              int64_t version_base, int64_t now_steady_us)
{
	if (watermark->as_of_us == 0)
		return;
	watermark->due_steady_us = now_steady_us + OUTBOX_WATERMARK_INTERVAL_MS * CLOCK_US_PER_MS;
	if (outbox_publisher_send_watermark(watermark->publisher, watermark->as_of_us, generation,
	                                    version_base) == OK)
		metrics_add(watermark->published, 1);
	watermark->as_of_us = 0;
}

int64_t outbox_watermark_wait_ms(const struct outbox_watermark *watermark, int64_t now_steady_us)
{
	int64_t ms = (watermark->due_steady_us - now_steady_us) / CLOCK_US_PER_MS;
	return ms < 1 ? 1 : ms > OUTBOX_WATERMARK_INTERVAL_MS ? OUTBOX_WATERMARK_INTERVAL_MS : ms;
}
