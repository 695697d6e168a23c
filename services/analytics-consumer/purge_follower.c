#include "services/analytics-consumer/purge_follower.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/background.h"
#include "lib/base/mem.h"
#include "lib/links/link_event.h"
#include "lib/links/slug.h"
#include "lib/net/kafka_consumer.h"
#include "lib/net/sql_column.h"
#include "services/analytics-consumer/offset_store.h"
#include "services/analytics-consumer/progress.h"
#include "services/analytics-consumer/purge_store.h"

#define POLL_MS 100
/* Purges come in crowds: together they cost one look at PostgreSQL. */
#define GATHER_US (200 * CLOCK_US_PER_MS)
#define SLUGS_MAX 1000
#define SLUGS_BYTES_MAX ((size_t)SLUGS_MAX * (SLUG_SIZE + 8) + 64)
/* Of records that are no purges the place is stored now and then: reading them again is cheap. */
#define RECORDS_MAX 50000
#define KEEP_PLACE_US (30 * CLOCK_US_PER_S)
#define SHOW_LAG_RECORDS 256
#define PAUSE_FIRST_MS 50
#define PAUSE_MAX_MS 5000

struct purge_follower {
	struct purge_follower_config config;
	char group[160];
	struct kafka_consumer *consumer;
	struct progress progress;
	struct sql_column slugs;
	size_t records;   /* since the place was stored */
	int64_t since_us; /* steady; the first of slugs, or when the place was stored */
	struct metric *purges;
	struct metric *rows;
	struct metric *lag;

	struct background *background;
};

/* --- whose turn it is --- */

static void begin_anew(struct purge_follower *f)
{
	f->records = 0;
	f->since_us = clock_steady_us(f->config.clock);
	sql_column_reset(&f->slugs);
	progress_forget(&f->progress);
}

static enum err take_partitions(void *ctx, const int32_t *partitions, size_t count, int64_t *offsets)
{
	struct purge_follower *f = ctx;
	struct pg_conn *conn = NULL;
	enum err err = count <= PROGRESS_PARTITIONS_MAX ? pg_pool_take(f->config.pool, &conn) : ERR_LIMIT;
	if (err != OK)
		return err;
	struct progress_partition *rows = mem_array(count, sizeof(*rows));
	err = offset_store_read(conn, f->config.topic, partitions, count, rows);
	pg_pool_give(f->config.pool, conn);
	for (size_t i = 0; err == OK && i < count; i++)
		offsets[i] = rows[i].stored == 0 ? KAFKA_CONSUMER_BEGINNING : rows[i].stored;
	if (err == OK) {
		progress_assign(&f->progress, rows, count);
		begin_anew(f);
	}
	free(rows);
	return err;
}

static void give_partitions(void *ctx, bool lost)
{
	(void)lost; /* whoever comes next reads again what is not stored */
	struct purge_follower *f = ctx;
	progress_clear(&f->progress);
	begin_anew(f);
}

/* The topic was made anew, or retention has taken what we did not read. */
static void take_stranded(void *ctx, int32_t partition, int64_t offset)
{
	struct purge_follower *f = ctx;
	struct progress_partition *p = progress_find(&f->progress, partition);
	log_warning(f->config.log, "purges_read_from_the_beginning", LOG_INT("partition", partition),
	            LOG_INT("offset", offset));
	if (p)
		p->is_missing = true;
}

static const struct kafka_consumer_events events = {
	.assigned = take_partitions,
	.revoked = give_partitions,
	.stranded = take_stranded,
};

static void rejoin(struct purge_follower *f)
{
	progress_clear(&f->progress);
	begin_anew(f);
	kafka_consumer_rejoin(f->consumer);
}

static void resume(struct purge_follower *f)
{
	for (size_t i = 0; i < f->progress.count; i++) {
		struct progress_partition *p = &f->progress.partitions[i];
		if (!p->is_missing)
			continue;
		p->is_missing = false;
		if (kafka_consumer_seek(f->consumer, p->partition, KAFKA_CONSUMER_BEGINNING) != OK) {
			rejoin(f);
			return;
		}
	}
}

/* --- read --- */

static bool is_purge(const struct kafka_message *message)
{
	struct link_event event;
	if (!slug_is_valid(message->key, message->key_len))
		return false; /* a mark of progress, or no link's */
	if (!message->value)
		return true;
	return link_event_decode(message->value, message->value_len, &event) == OK &&
	       event.change == LINK_CHANGE_PURGED;
}

static void take(struct purge_follower *f, const struct kafka_message *message)
{
	char slug[SLUG_SIZE];
	struct progress_partition *p = progress_find(&f->progress, message->partition);
	if (!p)
		return; /* of an assignment that is over */
	/* Compaction takes records away: which one stood before says nothing. */
	progress_reach(p, message->offset, 0);
	f->records++;
	if (!is_purge(message))
		return;
	snprintf(slug, sizeof(slug), "%.*s", (int)message->key_len, (const char *)message->key);
	if (f->slugs.count == 0)
		f->since_us = clock_steady_us(f->config.clock);
	sql_column_add_text(&f->slugs, slug);
}

static bool is_due(const struct purge_follower *f)
{
	int64_t waited_us = clock_steady_us(f->config.clock) - f->since_us;
	if (f->slugs.count > 0)
		return f->slugs.count == SLUGS_MAX || waited_us >= GATHER_US;
	return f->records >= RECORDS_MAX || (f->records > 0 && waited_us >= KEEP_PLACE_US);
}

/* --- forget --- */

static enum err forget(struct purge_follower *f, struct pg_conn *conn)
{
	int64_t rows = 0;
	enum err err = OK;
	if (f->slugs.count == 0)
		return OK;
	do {
		err = purge_store_forget_some(conn, &f->slugs, &rows);
		metrics_add(f->rows, err == OK ? rows : 0);
	} while (err == OK && rows > 0);
	return err == ERR_CONFLICT ? ERR_LIMIT : err; /* a deadlock with who does not keep the order: it passes */
}

/* ERR_CONFLICT: somebody else works on our partitions. */
static enum err finish(struct purge_follower *f)
{
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_take(f->config.pool, &conn);
	if (err != OK)
		return err;
	err = forget(f, conn);
	if (err == OK)
		err = offset_store_advance(conn, f->config.topic, &f->progress);
	pg_pool_give(f->config.pool, conn);
	return err;
}

/*
 * Until it is done, or not ours, or the end has been asked for. Nothing is polled meanwhile, so memory stays bounded.
 */
static void finish_surely(struct purge_follower *f)
{
	int64_t next_pause_ms = PAUSE_FIRST_MS;
	enum err err;
	while ((err = finish(f)) != OK && err != ERR_CONFLICT) {
		if (err != ERR_UNAVAILABLE && err != ERR_LIMIT)
			log_error(f->config.log, "purges_refused", LOG_TEXT("result", err_name(err)));
		if (background_wait_ms(f->background, next_pause_ms))
			return;
		next_pause_ms = next_pause_ms * 2 < PAUSE_MAX_MS ? next_pause_ms * 2 : PAUSE_MAX_MS;
	}
	if (err == ERR_CONFLICT) {
		rejoin(f);
		return;
	}
	metrics_add(f->purges, f->slugs.count);
	progress_keep(&f->progress);
	progress_publish(&f->progress);
	begin_anew(f);
}

/* --- the loop --- */

static enum err make_consumer(struct purge_follower *f)
{
	const struct kafka_consumer_config config = {
		.kafka = f->config.kafka,
		.group = f->group,
		.topic = f->config.topic,
		.session_timeout_ms = f->config.session_timeout_ms,
		.events = events,
		.ctx = f,
		.log = f->config.log,
	};
	return kafka_consumer_new(&config, &f->consumer);
}

/* librdkafka's consumer has failed for good; a new one begins with what is stored. */
static void renew_consumer(struct purge_follower *f)
{
	kafka_consumer_free(f->consumer);
	f->consumer = NULL;
	while (make_consumer(f) != OK && !background_wait_ms(f->background, PAUSE_MAX_MS))
		continue;
}

static void run(void *ctx)
{
	struct purge_follower *f = ctx;
	while (!background_is_ending(f->background)) {
		struct kafka_message message;
		enum err err = kafka_consumer_poll(f->consumer, POLL_MS, &message);
		if (err == ERR_INTERNAL) {
			renew_consumer(f);
			continue;
		}
		if (err == OK)
			take(f, &message);
		resume(f);
		if (err != OK || f->records % SHOW_LAG_RECORDS == 0)
			metrics_set(f->lag, kafka_consumer_lag(f->consumer));
		if (is_due(f))
			finish_surely(f);
	}
}

static void register_metrics(struct purge_follower *f, struct metrics *metrics)
{
	if (!metrics)
		return;
	f->purges =
		metrics_counter(metrics, "waymark_purges_followed_total",
	                        "Records of waymark.links.v1 that say that a link was purged, repeats included", NULL);
	f->rows = metrics_counter(metrics, "waymark_purged_rows_total",
	                          "Rows of statistics, roll-ups and known visitors deleted after purges", NULL);
	f->lag = metrics_gauge(metrics, "waymark_purges_lag",
	                       "Records of waymark.links.v1 in our partitions that are not read yet", NULL);
}

static void free_parts(struct purge_follower *f)
{
	kafka_consumer_free(f->consumer);
	progress_clear(&f->progress);
	sql_column_clear(&f->slugs);
	background_free(f->background);
	free(f);
}

enum err purge_follower_start(const struct purge_follower_config *config, struct purge_follower **out)
{
	struct purge_follower *f = mem_zero(sizeof(*f));
	f->config = *config;
	snprintf(f->group, sizeof(f->group), "%s-purges", config->group);
	f->background = background_new();
	sql_column_init(&f->slugs, SQL_COLUMN_TEXT, SLUGS_BYTES_MAX);
	register_metrics(f, config->metrics);
	enum err err = make_consumer(f);
	if (err != OK) {
		free_parts(f);
		return err;
	}
	background_start(f->background, "purges", run, f);
	*out = f;
	return OK;
}

void purge_follower_stop(struct purge_follower *follower)
{
	if (!follower)
		return;
	background_end(follower->background);
	free_parts(follower);
}
