#include "services/links-api/outbox/outbox_window.h"

#include <string.h>

#include "lib/base/thread.h"
#include "lib/links/outbox.h"
#include "services/links-api/outbox/outbox_cache_updater.h"
#include "services/links-api/outbox/outbox_generation.h"
#include "services/links-api/outbox/outbox_publisher.h"
#include "services/links-api/outbox/outbox_session.h"

#define FLUSH_MS OUTBOX_GENERATION_INTERVAL_MS
/* How long Kafka waits for Redis per window. */
#define CACHE_BUDGET_US (CLOCK_US_PER_S / 4)

void outbox_window_init(struct outbox_window *window, struct metrics *metrics)
{
	window->published = metrics_counter(metrics, "waymark_outbox_published_total",
	                                    "Link events acked by Kafka", NULL);
	window->failures = metrics_counter(
		metrics, "waymark_outbox_publish_failures_total",
		"Windows of link events that were not fully acked and are retried", NULL);
}

static bool contains_slug(const struct outbox_batch *batch, size_t begin, size_t end,
                          const char *slug)
{
	for (size_t i = begin; i < end; i++)
		if (strcmp(batch->rows[i].slug, slug) == 0)
			return true;
	return false;
}

/* A window never mixes priorities. */
static struct outbox_batch next_rows(const struct outbox_batch *batch, size_t begin)
{
	size_t end = begin + 1;
	bool is_low_priority = batch->rows[begin].is_low_priority;
	while (end < batch->count && batch->rows[end].is_low_priority == is_low_priority &&
	       !contains_slug(batch, begin, end, batch->rows[end].slug))
		end++;
	return (struct outbox_batch){ batch->rows + begin, end - begin };
}

/* Returns how many rows, from the first on, Kafka's client accepted. */
static size_t send_rows(struct outbox_window *window, const struct outbox_batch *rows,
                        enum err *err)
{
	struct outbox_session *session = window->session;
	size_t sent = 0;
	*err = outbox_session_may_send(session) ? OK : outbox_session_extend(session);
	while (*err == OK && sent < rows->count) {
		*err = outbox_session_may_send(session)
		               ? outbox_publisher_send(window->publisher, &rows->rows[sent])
		               : ERR_UNAVAILABLE;
		sent += *err == OK;
	}
	return sent;
}

/*
 * Returns when nothing is in flight any more, or when the relay stops. Records in flight stay ours
 * even if the lock is lost: Kafka's client gives them up before another relay could send later
 * ones.
 */
static enum err flush(struct outbox_window *window)
{
	for (;;) {
		enum err err = outbox_publisher_flush(window->publisher, FLUSH_MS);
		if (err != ERR_LIMIT || thread_is_stopping(window->thread))
			return err;
		if (outbox_session_extend(window->session) == OK)
			outbox_session_maintain_generation(window->session);
	}
}

static enum err publish_rows(struct outbox_window *window, struct outbox_batch *rows)
{
	int64_t now_us = clock_steady_us(window->session->clock);
	outbox_cache_updater_apply(window->updater, rows, now_us + CACHE_BUDGET_US);
	enum err err;
	struct outbox_batch acked = { rows->rows, send_rows(window, rows, &err) };
	enum err flushed = flush(window);
	if (err != OK || flushed != OK)
		metrics_add(window->failures, 1);
	if (flushed != OK || acked.count == 0)
		return err != OK ? err : flushed;
	metrics_add(window->published, (int64_t)acked.count);
	enum err recorded = outbox_set_published(window->session->conn, &acked);
	return err != OK ? err : recorded;
}

enum err outbox_window_publish(struct outbox_window *window, const struct outbox_batch *batch)
{
	enum err err = OK;
	for (size_t begin = 0; err == OK && begin < batch->count;) {
		struct outbox_batch rows = next_rows(batch, begin);
		err = publish_rows(window, &rows);
		begin += rows.count;
	}
	return err;
}
