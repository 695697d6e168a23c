#include "services/analytics-consumer/ownership.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "services/analytics-consumer/offset_store.h"

#define SETTLE_ON_REVOKE_MS 2000
#define REJOIN_AGAIN_MS 10000

void ownership_clear(struct ownership *o)
{
	progress_clear(&o->progress);
}

static void show(struct ownership *o)
{
	size_t stranded = progress_stranded_count(&o->progress);
	atomic_store(&o->stranded, stranded);
	ingest_metrics_set(&o->metrics->stranded, (int64_t)stranded);
	ingest_metrics_set(&o->metrics->partitions, (int64_t)o->progress.count);
}

static void change(struct ownership *o)
{
	o->changed_us = clock_steady_us(o->clock);
	show(o);
}

void ownership_throw_batch_away(struct ownership *o)
{
	batch_reset(o->batch);
	progress_forget(&o->progress);
}

static enum err take_partitions(void *ctx, const int32_t *partitions, size_t count, int64_t *offsets)
{
	struct ownership *o = ctx;
	struct pg_conn *conn = NULL;
	enum err err = count <= PROGRESS_PARTITIONS_MAX ? pg_pool_take(o->pool, &conn) : ERR_LIMIT;
	if (err != OK)
		return err;
	struct progress_partition *rows = mem_array(count, sizeof(*rows));
	err = offset_store_read(conn, o->topic, partitions, count, rows);
	pg_pool_give(o->pool, conn);
	for (size_t i = 0; err == OK && i < count; i++)
		offsets[i] = rows[i].stored == PROGRESS_NO_ROW ? KAFKA_CONSUMER_BEGINNING : rows[i].published;
	if (err == OK) {
		batch_reset(o->batch);
		progress_assign(&o->progress, rows, count);
		change(o);
	}
	free(rows);
	return err;
}

void ownership_mark_published(struct ownership *o, int64_t as_of_us)
{
	struct pg_conn *conn = NULL;
	if (o->progress.count == 0 || pg_pool_take(o->pool, &conn) != OK)
		return;
	enum err err = offset_store_mark_published(conn, o->topic, &o->progress, as_of_us);
	if (err != OK)
		log_warning(o->log, "published_not_marked", LOG_TEXT("result", err_name(err)));
	pg_pool_give(o->pool, conn);
}

static void give_partitions(void *ctx, bool lost)
{
	struct ownership *o = ctx;
	ownership_throw_batch_away(o);
	if (!lost && visit_publisher_settle(o->publisher, SETTLE_ON_REVOKE_MS) == OK)
		ownership_mark_published(o, 0);
	progress_clear(&o->progress);
	change(o);
}

static void take_stranded(void *ctx, int32_t partition, int64_t offset)
{
	struct ownership *o = ctx;
	struct progress_partition *p = progress_find(&o->progress, partition);
	if (!p)
		return;
	if (progress_is_counted(p, offset)) {
		log_error(o->log, "visits_cannot_be_published_again", LOG_INT("partition", partition),
		          LOG_INT("first_offset", offset), LOG_INT("next_offset", p->stored));
		p->resumes = true;
		return;
	}
	log_error(o->log, "partition_stranded", LOG_INT("partition", partition), LOG_INT("next_offset", offset));
	p->stranded = true;
	show(o);
}

const struct kafka_consumer_events ownership_events = {
	.assigned = take_partitions,
	.revoked = give_partitions,
	.stranded = take_stranded,
};

void ownership_resume(struct ownership *o)
{
	for (size_t i = 0; i < o->progress.count; i++) {
		struct progress_partition *p = &o->progress.partitions[i];
		if (!p->resumes)
			continue;
		p->resumes = false;
		if (kafka_consumer_seek(o->consumer, p->partition, p->stored) != OK) {
			ownership_rejoin(o);
			return;
		}
	}
}

void ownership_lose(struct ownership *o)
{
	ownership_throw_batch_away(o);
	progress_clear(&o->progress);
	change(o);
}

void ownership_rejoin(struct ownership *o)
{
	ownership_lose(o);
	kafka_consumer_rejoin(o->consumer);
}

void ownership_take_stray(struct ownership *o, int32_t partition)
{
	if (clock_steady_us(o->clock) - o->changed_us < REJOIN_AGAIN_MS * CLOCK_US_PER_MS)
		return;
	log_warning(o->log, "rejoining_again", LOG_INT("partition", partition));
	ownership_rejoin(o);
}
