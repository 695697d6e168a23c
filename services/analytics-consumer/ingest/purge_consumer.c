#include "services/analytics-consumer/ingest/purge_consumer.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/base/thread.h"
#include "lib/kafka/kafka_consumer.h"
#include "lib/links/link_event.h"
#include "lib/links/slug.h"
#include "lib/postgres/sql_column.h"
#include "services/analytics-consumer/storage/offsets.h"
#include "services/analytics-consumer/storage/rollup.h"

#define POLL_MS 100
/* Purges come in bursts. Gathering them for a moment costs one query instead of many. */
#define GATHER_US (200 * CLOCK_US_PER_MS)
#define SLUGS_MAX 1000
#define SLUGS_BYTES_MAX ((size_t)SLUGS_MAX * (SLUG_SIZE + 8) + 64)
/* Other records only advance the offset, which is stored rarely: reading again is cheap. */
#define RECORDS_MAX 50000
#define STORE_OFFSET_US (30 * CLOCK_US_PER_S)
#define SHOW_LAG_RECORDS 256
#define PAUSE_FIRST_MS 50
#define PAUSE_MAX_MS 5000

struct purge_consumer {
	struct purge_consumer_config config;
	char group[160];
	struct kafka_consumer *consumer;
	struct offsets offsets;
	struct sql_column slugs;
	/* Read since the offset was stored. */
	size_t records;
	/* Steady; when the first of slugs was read, or when the offset was stored. */
	int64_t since_us;
	struct metric *rows;
	struct metric *lag;

	struct thread *thread;
};

/* --- assignment --- */

static void begin_batch(struct purge_consumer *c)
{
	c->records = 0;
	c->since_us = clock_steady_us(c->config.clock);
	sql_column_reset(&c->slugs);
	offsets_begin_batch(&c->offsets);
}

static enum err on_assigned(void *ctx, const int32_t *partitions, size_t count, int64_t *offsets)
{
	struct purge_consumer *c = ctx;
	struct pg_conn *conn = NULL;
	enum err err = count <= OFFSETS_PARTITIONS_MAX ? pg_pool_acquire(c->config.pool, &conn)
	                                               : ERR_LIMIT;
	if (err != OK)
		return err;
	struct offsets_partition *rows = mem_array(count, sizeof(*rows));
	err = offsets_read(conn, c->config.topic, partitions, count, rows);
	pg_pool_release(c->config.pool, conn);
	for (size_t i = 0; err == OK && i < count; i++)
		offsets[i] = rows[i].stored == 0 ? KAFKA_CONSUMER_BEGINNING
		                                 : offsets_next_record(rows[i].stored);
	if (err == OK) {
		offsets_assign(&c->offsets, rows, count);
		begin_batch(c);
	}
	free(rows);
	return err;
}

static void on_revoked(void *ctx, bool lost)
{
	(void)lost; /* the next owner reads again what is not stored */
	struct purge_consumer *c = ctx;
	offsets_clear(&c->offsets);
	begin_batch(c);
}

/* The topic was recreated, or retention removed records before they were read. */
static void on_out_of_range(void *ctx, int32_t partition, int64_t offset)
{
	struct purge_consumer *c = ctx;
	struct offsets_partition *p = offsets_find(&c->offsets, partition);
	log_warning(c->config.log, "purges_read_from_the_beginning",
	            LOG_INT("partition", partition), LOG_INT("offset", offset));
	if (p)
		p->is_out_of_range = true;
}

static const struct kafka_consumer_events events = {
	.assigned = on_assigned,
	.revoked = on_revoked,
	.offset_out_of_range = on_out_of_range,
};

static void rejoin(struct purge_consumer *c)
{
	offsets_clear(&c->offsets);
	begin_batch(c);
	kafka_consumer_rejoin(c->consumer);
}

static void seek_missing(struct purge_consumer *c)
{
	for (size_t i = 0; i < c->offsets.count; i++) {
		struct offsets_partition *p = &c->offsets.partitions[i];
		if (!p->is_out_of_range)
			continue;
		p->is_out_of_range = false;
		if (kafka_consumer_seek(c->consumer, p->partition, KAFKA_CONSUMER_BEGINNING) !=
		    OK) {
			rejoin(c);
			return;
		}
	}
}

/* --- read --- */

static bool is_purge(const struct kafka_message *message)
{
	struct link_event event;
	if (!slug_is_valid(message->key, message->key_len))
		return false;
	if (!message->value)
		return true;
	return link_event_decode(message->value, message->value_len, &event) == OK &&
	       event.change == LINK_CHANGE_PURGED;
}

static void add_message(struct purge_consumer *c, const struct kafka_message *message)
{
	char slug[SLUG_SIZE];
	struct offsets_partition *p = offsets_find(&c->offsets, message->partition);
	if (!p)
		return; /* from an earlier assignment */
	/* Compaction may remove the record. */
	offsets_extend_unverified(p, message->offset, 0, OFFSETS_INDEXES);
	c->records++;
	if (!is_purge(message))
		return;
	snprintf(slug, sizeof(slug), "%.*s", (int)message->key_len, (const char *)message->key);
	if (c->slugs.count == 0)
		c->since_us = clock_steady_us(c->config.clock);
	sql_column_add_text(&c->slugs, slug);
}

static bool is_due(const struct purge_consumer *c)
{
	int64_t waited_us = clock_steady_us(c->config.clock) - c->since_us;
	if (c->slugs.count > 0)
		return c->slugs.count == SLUGS_MAX || waited_us >= GATHER_US;
	return c->records >= RECORDS_MAX || (c->records > 0 && waited_us >= STORE_OFFSET_US);
}

/* --- delete --- */

static enum err delete_rows(struct purge_consumer *c, struct pg_conn *conn)
{
	int64_t rows = 0;
	enum err err = OK;
	if (c->slugs.count == 0)
		return OK;
	do {
		err = rollup_delete_purged(conn, &c->slugs, &rows);
		metrics_add(c->rows, err == OK ? rows : 0);
	} while (err == OK && rows > 0);
	return err == ERR_CONFLICT ? ERR_LIMIT : err; /* a deadlock is transient */
}

/* ERR_CONFLICT: another consumer owns the partitions. */
static enum err apply(struct purge_consumer *c)
{
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(c->config.pool, &conn);
	if (err != OK)
		return err;
	err = delete_rows(c, conn);
	if (err == OK)
		err = offsets_advance(conn, c->config.topic, &c->offsets);
	pg_pool_release(c->config.pool, conn);
	return err;
}

/*
 * Retries until the purges are applied, another consumer owns the partitions, or the thread is to
 * end. Nothing is polled meanwhile, so memory stays bounded.
 */
static void apply_with_retries(struct purge_consumer *c)
{
	int64_t next_pause_ms = PAUSE_FIRST_MS;
	enum err err;
	while ((err = apply(c)) != OK && err != ERR_CONFLICT) {
		if (err != ERR_UNAVAILABLE && err != ERR_LIMIT)
			log_error(c->config.log, "purges_refused",
			          LOG_TEXT("result", err_name(err)));
		if (thread_wait_ms(c->thread, next_pause_ms))
			return;
		next_pause_ms = next_pause_ms * 2 < PAUSE_MAX_MS ? next_pause_ms * 2 : PAUSE_MAX_MS;
	}
	if (err == ERR_CONFLICT) {
		rejoin(c);
		return;
	}
	offsets_mark_stored(&c->offsets);
	offsets_mark_published(&c->offsets);
	begin_batch(c);
}

/* --- the loop --- */

static enum err make_consumer(struct purge_consumer *c)
{
	const struct kafka_consumer_config config = {
		.kafka = c->config.kafka,
		.group = c->group,
		.topic = c->config.topic,
		.session_timeout_ms = c->config.session_timeout_ms,
		.events = events,
		.ctx = c,
		.log = c->config.log,
	};
	return kafka_consumer_new(&config, &c->consumer);
}

/* After librdkafka's consumer failed for good. The new one starts from the stored offsets. */
static void renew_consumer(struct purge_consumer *c)
{
	kafka_consumer_free(c->consumer);
	c->consumer = NULL;
	while (make_consumer(c) != OK && !thread_wait_ms(c->thread, PAUSE_MAX_MS))
		continue;
}

static void run(void *ctx)
{
	struct purge_consumer *c = ctx;
	while (!thread_is_stopping(c->thread)) {
		struct kafka_message message;
		enum err err = kafka_consumer_poll(c->consumer, POLL_MS, &message);
		if (err == ERR_INTERNAL) {
			renew_consumer(c);
			continue;
		}
		if (err == OK)
			add_message(c, &message);
		seek_missing(c);
		if (err != OK || c->records % SHOW_LAG_RECORDS == 0)
			metrics_set(c->lag, kafka_consumer_lag(c->consumer));
		if (is_due(c))
			apply_with_retries(c);
	}
}

static void register_metrics(struct purge_consumer *c, struct metrics *metrics)
{
	if (!metrics)
		return;
	c->rows = metrics_counter(metrics, "waymark_purged_rows_total",
	                          "Rows of statistics and roll-ups deleted after purges", NULL);
	c->lag = metrics_gauge(
		metrics, "waymark_purges_lag",
		"Records of waymark.links.v1 in the assigned partitions that are not read yet",
		NULL);
}

static void free_parts(struct purge_consumer *c)
{
	kafka_consumer_free(c->consumer);
	offsets_clear(&c->offsets);
	sql_column_clear(&c->slugs);
	thread_free(c->thread);
	free(c);
}

enum err purge_consumer_start(const struct purge_consumer_config *config,
                              struct purge_consumer **out)
{
	struct purge_consumer *c = mem_zero(sizeof(*c));
	c->config = *config;
	snprintf(c->group, sizeof(c->group), "%s-purges", config->group);
	c->thread = thread_new();
	sql_column_init(&c->slugs, SQL_COLUMN_TEXT, SLUGS_BYTES_MAX);
	register_metrics(c, config->metrics);
	enum err err = make_consumer(c);
	if (err != OK) {
		free_parts(c);
		return err;
	}
	thread_start(c->thread, "purges", run, c);
	*out = c;
	return OK;
}

void purge_consumer_stop(struct purge_consumer *c)
{
	if (!c)
		return;
	thread_stop(c->thread);
	free_parts(c);
}
