#include "services/links-api/outbox/outbox_watermark.h"

#include "lib/base/clock.h"

/* How long a topic that was created again may go unnoticed while no link changes. */
#define QUERY_EVERY_US (5 * CLOCK_US_PER_S)
#define QUERY_RETRY_US (CLOCK_US_PER_S / 4)
#define QUERY_TIMEOUT_MS 100

void outbox_watermark_init(struct outbox_watermark *watermark, struct outbox_publisher *publisher,
                           struct metrics *metrics)
{
	*watermark = (struct outbox_watermark){ .publisher = publisher };
	watermark->published = metrics_counter(metrics, "waymark_outbox_watermarks_total",
	                                       "Watermarks sent to Kafka", NULL);
}

void outbox_watermark_reset(struct outbox_watermark *watermark)
{
	outbox_publisher_forget_ends(watermark->publisher);
	outbox_watermark_unsettle(watermark);
}

void outbox_watermark_unsettle(struct outbox_watermark *watermark)
{
	watermark->has_settled = false;
	watermark->query_steady_us = 0;
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

void outbox_watermark_refresh_ends(struct outbox_watermark *watermark, bool is_complete,
                                   int64_t now_steady_us)
{
	if (now_steady_us < watermark->query_steady_us)
		return;
	if (outbox_publisher_query_ends(watermark->publisher, QUERY_TIMEOUT_MS) != OK) {
		watermark->query_steady_us = now_steady_us + QUERY_RETRY_US;
		return;
	}
	if (is_complete)
		watermark->has_settled = true;
	if (watermark->has_settled)
		watermark->query_steady_us = now_steady_us + QUERY_EVERY_US;
}

void outbox_watermark_publish(struct outbox_watermark *watermark, int64_t generation,
                              int64_t version_base, const struct fenced_lock *lock,
                              struct pg_conn *conn, int64_t now_steady_us)
{
	if (watermark->has_settled && !outbox_publisher_knows_ends(watermark->publisher))
		outbox_watermark_unsettle(watermark);
	if (watermark->as_of_us == 0)
		return;
	watermark->due_steady_us = now_steady_us + OUTBOX_WATERMARK_INTERVAL_MS * CLOCK_US_PER_MS;
	if (watermark->has_settled && fenced_lock_confirm(lock, conn) == OK &&
	    outbox_publisher_send_watermark(watermark->publisher, watermark->as_of_us, generation,
	                                    version_base) == OK)
		metrics_add(watermark->published, 1);
	watermark->as_of_us = 0;
}

int64_t outbox_watermark_wait_ms(const struct outbox_watermark *watermark, int64_t now_steady_us)
{
	int64_t ms = (watermark->due_steady_us - now_steady_us) / CLOCK_US_PER_MS;
	return ms < 1 ? 1 : ms > OUTBOX_WATERMARK_INTERVAL_MS ? OUTBOX_WATERMARK_INTERVAL_MS : ms;
}
