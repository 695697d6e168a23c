#include "services/analytics-consumer/ingest/assignment.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "services/analytics-consumer/storage/offsets.h"

#define FLUSH_ON_REVOKE_MS 2000
#define REJOIN_INTERVAL_MS 10000
#define OFFSET_UNKNOWN (-1)

void assignment_clear(struct assignment *a)
{
	offsets_clear(&a->offsets);
}

static void update_gauges(struct assignment *a)
{
	size_t halted = offsets_halted_count(&a->offsets);
	atomic_store(&a->halted_count, halted);
	ingest_metrics_set(&a->metrics->halted, (int64_t)halted);
	ingest_metrics_set(&a->metrics->partitions, (int64_t)a->offsets.count);
}

static void note_change(struct assignment *a)
{
	a->changed_us = clock_steady_us(a->clock);
	update_gauges(a);
}

void assignment_discard_batch(struct assignment *a)
{
	batch_reset(a->batch);
	a->record.is_open = false;
	offsets_begin_batch(&a->offsets);
}

/* --- assigned and revoked --- */

/* With a known fingerprint, starts with its record to verify that it is still there. */
static int64_t start_offset(const struct offsets_partition *p)
{
	if (p->halt_reason != OFFSETS_NOT_HALTED)
		return KAFKA_CONSUMER_HALTED;
	if (p->stored == 0)
		return KAFKA_CONSUMER_BEGINNING;
	return p->fingerprint != 0 && p->published == p->stored ? offsets_last_record(p->stored)
	                                                        : offsets_next_record(p->published);
}

static void log_halted(const struct assignment *a, const struct offsets_partition *p, int64_t first,
                       int64_t end)
{
	log_error(a->log, "partition_halted", LOG_INT("partition", p->partition),
	          LOG_INT("next_offset", offsets_next_record(p->next_stored)),
	          LOG_INT("next_index", offsets_index(p->next_stored)),
	          LOG_TEXT("reason", offsets_halt_reason_name(p->halt_reason)),
	          LOG_INT("first_offset", first), LOG_INT("end_offset", end));
}

static void start_assignment(struct assignment *a, const struct offsets_partition *rows,
                             size_t count)
{
	batch_reset(a->batch);
	a->record.is_open = false;
	offsets_assign(&a->offsets, rows, count);
	for (size_t i = 0; i < count; i++) {
		const struct offsets_partition *p = &a->offsets.partitions[i];
		if (p->halt_reason != OFFSETS_NOT_HALTED)
			log_halted(a, p, OFFSET_UNKNOWN, OFFSET_UNKNOWN);
	}
	note_change(a);
}

static enum err on_assigned(void *ctx, const int32_t *partitions, size_t count, int64_t *offsets)
{
	struct assignment *a = ctx;
	struct pg_conn *conn = NULL;
	enum err err =
		count <= OFFSETS_PARTITIONS_MAX ? pg_pool_acquire(a->pool, &conn) : ERR_LIMIT;
	if (err != OK)
		return err;
	struct offsets_partition *rows = mem_array(count, sizeof(*rows));
	err = offsets_read(conn, a->topic, partitions, count, rows);
	pg_pool_release(a->pool, conn);
	for (size_t i = 0; err == OK && i < count; i++)
		offsets[i] = start_offset(&rows[i]);
	if (err == OK)
		start_assignment(a, rows, count);
	free(rows);
	return err;
}

void assignment_mark_published(struct assignment *a, int64_t as_of_us)
{
	struct pg_conn *conn = NULL;
	if (a->offsets.count == 0 || pg_pool_acquire(a->pool, &conn) != OK)
		return;
	enum err err = offsets_store_published(conn, a->topic, &a->offsets, as_of_us);
	if (err != OK)
		log_warning(a->log, "published_offset_not_stored",
		            LOG_TEXT("result", err_name(err)));
	pg_pool_release(a->pool, conn);
}

static void on_revoked(void *ctx, bool lost)
{
	struct assignment *a = ctx;
	assignment_discard_batch(a);
	if (!lost && publish_visits_flush(a->publisher, FLUSH_ON_REVOKE_MS) == OK)
		assignment_mark_published(a, 0);
	offsets_clear(&a->offsets);
	note_change(a);
}

/* Only sets a mark: assignment_check_ranges looks up what the topic has after the poll. */
static void on_out_of_range(void *ctx, int32_t partition, int64_t offset)
{
	(void)offset;
	struct assignment *a = ctx;
	struct offsets_partition *p = offsets_find(&a->offsets, partition);
	if (p)
		p->is_out_of_range = true;
}

const struct kafka_consumer_events assignment_events = {
	.assigned = on_assigned,
	.revoked = on_revoked,
	.offset_out_of_range = on_out_of_range,
};

/* --- offsets that do not exist any more --- */

static void halt(struct assignment *a, struct offsets_partition *p, enum offsets_halt_reason reason,
                 int64_t first, int64_t end)
{
	p->halt_reason = reason;
	p->is_halt_recorded = false;
	log_halted(a, p, first, end);
	update_gauges(a);
	if (kafka_consumer_halt(a->consumer, p->partition) != OK)
		assignment_rejoin(a);
}

static bool has_fingerprint(const struct kafka_message *message, int64_t fingerprint)
{
	struct kafka_message_head head;
	kafka_message_copy_head(message, &head);
	return kafka_message_fingerprint(&head) == fingerprint;
}

bool assignment_accepts(struct assignment *a, struct offsets_partition *p,
                        const struct kafka_message *message)
{
	if (p->halt_reason != OFFSETS_NOT_HALTED)
		return false;
	int64_t last = offsets_last_record(p->stored);
	if (!p->is_unverified || message->offset < last)
		return true;
	p->is_unverified = false;
	if (message->offset == last && has_fingerprint(message, p->fingerprint))
		return true;
	int64_t first = OFFSET_UNKNOWN;
	int64_t end = OFFSET_UNKNOWN;
	/* For the log only: the partition is halted either way. */
	(void)(kafka_consumer_offset_range(a->consumer, p->partition, &first, &end) == OK);
	halt(a, p, OFFSETS_ANOTHER_RECORD, first, end);
	return false;
}

static enum err continue_from(struct assignment *a, struct offsets_partition *p, int64_t first)
{
	/*
	 * Retention removed the record before the next one in due time. The range of offsets is all
	 * that can be verified.
	 */
	if (offsets_position(first, 0) >= p->next_stored)
		p->is_unverified = false;
	if (p->next_published < p->stored && p->next_published < offsets_position(first, 0))
		log_error(a->log, "visits_cannot_be_published_again",
		          LOG_INT("partition", p->partition), LOG_INT("first_offset", first),
		          LOG_INT("next_offset", offsets_next_record(p->stored)));
	int64_t from = offsets_next_record(p->next_published);
	if (from < first)
		from = first;
	if (p->is_unverified && from > offsets_last_record(p->stored))
		from = offsets_last_record(p->stored);
	return kafka_consumer_seek(a->consumer, p->partition, from);
}

static enum err check_range(struct assignment *a, struct offsets_partition *p)
{
	int64_t first = 0;
	int64_t end = 0;
	enum err err = kafka_consumer_offset_range(a->consumer, p->partition, &first, &end);
	if (err != OK)
		return err;
	if (offsets_position(end, 0) < p->next_stored)
		halt(a, p, OFFSETS_TOPIC_ENDS_BEFORE, first, end);
	else if (first > offsets_next_record(p->next_stored) && p->next_stored > 0)
		halt(a, p, OFFSETS_REMOVED_BY_RETENTION, first, end);
	else
		err = continue_from(a, p, first);
	return err;
}

void assignment_check_ranges(struct assignment *a)
{
	for (size_t i = 0; i < a->offsets.count; i++) {
		struct offsets_partition *p = &a->offsets.partitions[i];
		if (!p->is_out_of_range || p->halt_reason != OFFSETS_NOT_HALTED)
			continue;
		p->is_out_of_range = false;
		if (check_range(a, p) != OK) {
			assignment_rejoin(a);
			return;
		}
	}
}

bool assignment_has_unrecorded_halt(const struct assignment *a)
{
	for (size_t i = 0; i < a->offsets.count; i++) {
		const struct offsets_partition *p = &a->offsets.partitions[i];
		if (p->halt_reason != OFFSETS_NOT_HALTED && !p->is_halt_recorded)
			return true;
	}
	return false;
}

void assignment_record_halts(struct assignment *a)
{
	struct pg_conn *conn = NULL;
	if (pg_pool_acquire(a->pool, &conn) != OK)
		return;
	for (size_t i = 0; i < a->offsets.count; i++) {
		struct offsets_partition *p = &a->offsets.partitions[i];
		if (p->halt_reason != OFFSETS_NOT_HALTED && !p->is_halt_recorded)
			p->is_halt_recorded = offsets_halt(conn, a->topic, p) == OK;
	}
	pg_pool_release(a->pool, conn);
}

/* --- partitions in which nothing waits --- */

/*
 * The lag of a new assignment is unknown until its first fetches return. A partition whose as_of
 * was never known asks the broker instead, once: statistics of a new installation are dated from
 * the moment a consumer owns the partitions. *responds: false after the broker failed to answer.
 */
static bool is_at_end(const struct assignment *a, const struct offsets_partition *p, bool *responds)
{
	int64_t first = 0;
	int64_t end = 0;
	if (p->is_dated || p->halt_reason != OFFSETS_NOT_HALTED || !*responds)
		return kafka_consumer_partition_lag(a->consumer, p->partition) == 0;
	*responds = kafka_consumer_offset_range(a->consumer, p->partition, &first, &end) == OK;
	return *responds && offsets_position(end, 0) ==
	                            (p->stored == 0 ? offsets_position(first, 0) : p->stored);
}

bool assignment_has_undated(const struct assignment *a)
{
	for (size_t i = 0; i < a->offsets.count; i++) {
		const struct offsets_partition *p = &a->offsets.partitions[i];
		if (!p->is_dated && p->halt_reason == OFFSETS_NOT_HALTED)
			return true;
	}
	return false;
}

bool assignment_find_caught_up(struct assignment *a)
{
	struct offsets *offsets = &a->offsets;
	bool any = false;
	bool responds = true;
	for (size_t i = 0; i < offsets->count; i++) {
		struct offsets_partition *p = &offsets->partitions[i];
		bool at_end = is_at_end(a, p, &responds) &&
		              !(a->record.is_open && a->record.message.partition == p->partition);
		p->is_dated = true;
		p->caught_up = at_end && !p->is_unverified;
		/*
		 * The end is reached, but the record whose fingerprint would verify the topic never
		 * came. The partition is treated like one whose offset is out of range.
		 */
		p->is_out_of_range = p->is_out_of_range || (at_end && p->is_unverified);
		any = any || p->caught_up;
	}
	return any;
}

/* --- disagreement with the group --- */

void assignment_drop(struct assignment *a)
{
	assignment_discard_batch(a);
	offsets_clear(&a->offsets);
	note_change(a);
}

void assignment_rejoin(struct assignment *a)
{
	assignment_drop(a);
	kafka_consumer_rejoin(a->consumer);
}

void assignment_handle_stray(struct assignment *a, int32_t partition)
{
	if (clock_steady_us(a->clock) - a->changed_us < REJOIN_INTERVAL_MS * CLOCK_US_PER_MS)
		return;
	log_warning(a->log, "group_rejoined_again", LOG_INT("partition", partition));
	assignment_rejoin(a);
}
