#include "services/analytics-consumer/ownership.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "services/analytics-consumer/offset_store.h"

#define SETTLE_ON_REVOKE_MS 2000
#define REJOIN_AGAIN_MS 10000
#define KAFKA_END_UNKNOWN (-1)

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

/* Where to begin: at the record before the next one, if that can be told from others, to see if it is still there. */
static int64_t beginning_of(const struct progress_partition *p)
{
	if (p->strand != PROGRESS_NOT_STRANDED)
		return KAFKA_CONSUMER_NOWHERE;
	if (p->stored == 0)
		return KAFKA_CONSUMER_BEGINNING;
	return p->record != 0 && p->published == p->stored ? p->stored - 1 : p->published;
}

static void log_stranded(const struct ownership *o, const struct progress_partition *p, int64_t first, int64_t end)
{
	log_error(o->log, "partition_stranded", LOG_INT("partition", p->partition), LOG_INT("next_offset", p->next),
	          LOG_TEXT("why", progress_strand_name(p->strand)), LOG_INT("first_offset", first),
	          LOG_INT("end_offset", end));
}

static void take_over(struct ownership *o, const struct progress_partition *rows, size_t count)
{
	batch_reset(o->batch);
	progress_assign(&o->progress, rows, count);
	for (size_t i = 0; i < count; i++) {
		const struct progress_partition *p = &o->progress.partitions[i];
		if (p->strand != PROGRESS_NOT_STRANDED)
			log_stranded(o, p, KAFKA_END_UNKNOWN, KAFKA_END_UNKNOWN);
	}
	change(o);
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
		offsets[i] = beginning_of(&rows[i]);
	if (err == OK)
		take_over(o, rows, count);
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

/* What there is instead is looked at after the poll. */
static void take_stranded(void *ctx, int32_t partition, int64_t offset)
{
	(void)offset;
	struct ownership *o = ctx;
	struct progress_partition *p = progress_find(&o->progress, partition);
	if (p)
		p->is_missing = true;
}

const struct kafka_consumer_events ownership_events = {
	.assigned = take_partitions,
	.revoked = give_partitions,
	.stranded = take_stranded,
};

static void strand(struct ownership *o, struct progress_partition *p, enum progress_strand why, int64_t first,
                   int64_t end)
{
	p->strand = why;
	p->strand_is_told = false;
	log_stranded(o, p, first, end);
	show(o);
	if (kafka_consumer_stop(o->consumer, p->partition) != OK)
		ownership_rejoin(o);
}

bool ownership_admits(struct ownership *o, struct progress_partition *p, const struct kafka_message *message)
{
	if (p->strand != PROGRESS_NOT_STRANDED)
		return false;
	if (!p->is_unproven || message->offset < p->stored - 1)
		return true;
	p->is_unproven = false;
	if (message->offset == p->stored - 1 && kafka_message_print(message) == p->record)
		return message->offset >= p->published;
	int64_t first = KAFKA_END_UNKNOWN;
	int64_t end = KAFKA_END_UNKNOWN;
	(void)(kafka_consumer_ends(o->consumer, p->partition, &first, &end) == OK);
	strand(o, p, PROGRESS_OTHER_RECORD, first, end);
	return false;
}

static enum err go_on(struct ownership *o, struct progress_partition *p, int64_t first)
{
	/* The record before the next one has been removed in its time: an end that fits to the offset has to do. */
	if (first >= p->next)
		p->is_unproven = false;
	if (p->reached < p->stored && p->reached < first)
		log_error(o->log, "visits_cannot_be_published_again", LOG_INT("partition", p->partition),
		          LOG_INT("first_offset", first), LOG_INT("next_offset", p->stored));
	int64_t from = p->reached > first ? p->reached : first;
	if (p->is_unproven && from >= p->stored)
		from = p->stored - 1;
	return kafka_consumer_seek(o->consumer, p->partition, from);
}

static enum err find_out(struct ownership *o, struct progress_partition *p)
{
	int64_t first = 0;
	int64_t end = 0;
	enum err err = kafka_consumer_ends(o->consumer, p->partition, &first, &end);
	if (err != OK)
		return err;
	if (end < p->next)
		strand(o, p, PROGRESS_ENDS_BEFORE, first, end);
	else if (first > p->next && p->next > 0)
		strand(o, p, PROGRESS_REMOVED, first, end);
	else
		err = go_on(o, p, first);
	return err;
}

void ownership_examine(struct ownership *o)
{
	for (size_t i = 0; i < o->progress.count; i++) {
		struct progress_partition *p = &o->progress.partitions[i];
		if (!p->is_missing || p->strand != PROGRESS_NOT_STRANDED)
			continue;
		p->is_missing = false;
		if (find_out(o, p) != OK) {
			ownership_rejoin(o);
			return;
		}
	}
}

bool ownership_has_to_tell(const struct ownership *o)
{
	for (size_t i = 0; i < o->progress.count; i++) {
		const struct progress_partition *p = &o->progress.partitions[i];
		if (p->strand != PROGRESS_NOT_STRANDED && !p->strand_is_told)
			return true;
	}
	return false;
}

void ownership_tell_stranded(struct ownership *o)
{
	struct pg_conn *conn = NULL;
	if (pg_pool_take(o->pool, &conn) != OK)
		return;
	for (size_t i = 0; i < o->progress.count; i++) {
		struct progress_partition *p = &o->progress.partitions[i];
		if (p->strand != PROGRESS_NOT_STRANDED && !p->strand_is_told)
			p->strand_is_told = offset_store_strand(conn, o->topic, p) == OK;
	}
	pg_pool_give(o->pool, conn);
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
