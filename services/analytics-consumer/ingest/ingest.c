#include "services/analytics-consumer/ingest/ingest.h"

#include <stdatomic.h>

#include "lib/base/mem.h"
#include "lib/base/thread.h"
#include "lib/kafka/kafka_consumer.h"
#include "lib/kafka/kafka_producer.h"
#include "services/analytics-consumer/ingest/assignment.h"
#include "services/analytics-consumer/ingest/batch_writer.h"
#include "services/analytics-consumer/ingest/ingest_metrics.h"
#include "services/analytics-consumer/publish/publish.h"
#include "services/analytics-consumer/storage/batch.h"
#include "services/analytics-consumer/storage/visit_store.h"

#define IDLE_POLL_MS 100
/* Longer than a fetch takes after an assignment; before, a known end may be outdated. */
#define MARK_INTERVAL_MS 1000
/*
 * Fetches wait for up to half a second. A click may have reached Kafka since the last fetch, so
 * as_of must stay behind the present.
 */
#define AS_OF_MARGIN_US CLOCK_US_PER_S
#define RENEW_PAUSE_MS 5000
/* A batch whose time is over keeps filling while the previous one is still being written. */
#define BUSY_POLL_MS 5
/* Between two looks at the clock, which is read once for these. */
#define POLL_RECORDS_MAX 16
#define QUEUE_MAX 100000
#define QUEUE_BYTES_MAX ((size_t)64 * 1024 * 1024)
#define LINGER_MS 5

/* The states of the loop. Each step names the next state; run has the only switch. */
enum state {
	STATE_GATHER, /* poll records into the batch; the previous batch may be being written */
	STATE_WRITE,  /* hand the gathered batch to the writer */
	STATE_RECORD_HALTS,   /* record newly halted partitions in the store */
	STATE_MARK_CAUGHT_UP, /* mark partitions without waiting records as counted up to now */
	STATE_REJOIN,         /* a write failed: the offsets are uncertain */
	STATE_RENEW_CONSUMER, /* librdkafka's consumer failed for good */
	STATE_END,
};

struct ingest {
	struct ingest_config config;
	struct ingest_metrics metrics;
	struct kafka_consumer *consumer;
	struct kafka_producer *producer;
	struct visit_publisher *publisher;
	struct visit_store *store;
	struct batch batch;
	struct assignment assignment;
	struct batch_writer *writer;
	/* A batch was started and its result was not taken yet. */
	bool is_writing;
	/* Steady; the last STATE_MARK_CAUGHT_UP that was due. */
	int64_t marked_us;
	/* assignment.changed_us when the store's caches were last invalidated. */
	int64_t validated_us;
	/* By the consumer, as of its last poll: a long write keeps the thread from polling. */
	_Atomic bool kafka_reachable;

	struct thread *thread;
};

static int64_t steady_us(const struct ingest *in)
{
	return clock_steady_us(in->config.clock);
}

static enum state gather_or_end(const struct ingest *in)
{
	return thread_is_stopping(in->thread) ? STATE_END : STATE_GATHER;
}

/* --- the end of a write --- */

/*
 * Waits until the batch is stored. False when it or the one before it failed: then the assigned
 * partitions and the batch being gathered are dropped too.
 */
static bool finish_write(struct ingest *in)
{
	if (!in->is_writing)
		return true;
	in->is_writing = false;
	if (batch_writer_finish(in->writer) != OK) {
		assignment_drop(&in->assignment);
		return false;
	}
	const struct offsets *written = batch_writer_offsets(in->writer);
	for (size_t i = 0; i < written->count; i++) {
		const struct offsets_partition *p = &written->partitions[i];
		if (offsets_has_advanced(p))
			kafka_consumer_commit_offset(in->consumer, p->partition,
			                             offsets_next_record(p->next_stored));
	}
	return true;
}

/* Before the assignment changes, no batch of the old one may be in the middle of a write. */
static void interrupt_write(struct ingest *in)
{
	batch_writer_cancel_retries(in->writer);
	(void)finish_write(in);
	enum err err = batch_writer_flush(in->writer);
	if (err != OK && err != ERR_UNAVAILABLE)
		assignment_drop(&in->assignment);
}

/* --- events of the consumer, during a poll --- */

/* Shows lag monitors what the store has: after a restore, less than was committed before. */
static void commit_stored(const struct ingest *in)
{
	const struct offsets *offsets = &in->assignment.offsets;
	for (size_t i = 0; i < offsets->count; i++) {
		const struct offsets_partition *p = &offsets->partitions[i];
		if (p->stored > 0)
			kafka_consumer_commit_offset(in->consumer, p->partition,
			                             offsets_next_record(p->stored));
	}
}

static enum err on_assigned(void *ctx, const int32_t *partitions, size_t count, int64_t *offsets)
{
	struct ingest *in = ctx;
	interrupt_write(in);
	enum err err = assignment_events.assigned(&in->assignment, partitions, count, offsets);
	if (err == OK)
		commit_stored(in);
	return err;
}

static void on_revoked(void *ctx, bool lost)
{
	struct ingest *in = ctx;
	interrupt_write(in);
	assignment_events.revoked(&in->assignment, lost);
}

static void on_out_of_range(void *ctx, int32_t partition, int64_t offset)
{
	struct ingest *in = ctx;
	assignment_events.offset_out_of_range(&in->assignment, partition, offset);
}

static enum err make_consumer(struct ingest *in)
{
	const struct kafka_consumer_config config = {
		.kafka = in->config.kafka,
		.group = in->config.group,
		.topic = in->config.topic,
		.session_timeout_ms = in->config.session_timeout_ms,
		.events = { .assigned = on_assigned,
		            .revoked = on_revoked,
		            .offset_out_of_range = on_out_of_range },
		.ctx = in,
		.log = in->config.log,
		.metrics = NULL,
	};
	enum err err = kafka_consumer_new(&config, &in->consumer);
	in->assignment.consumer = in->consumer;
	return err;
}

/* --- the states --- */

/*
 * Adds what the record has, if it is open, as far as the batch has room. before: how many events the
 * batch had before the record was opened or continued.
 */
static void add_events(struct ingest *in, struct offsets_partition *p, int64_t now_us,
                       size_t before)
{
	if (in->assignment.record.is_open)
		batch_add(&in->batch, in->config.enrich, &in->assignment.record, p, now_us);
	metrics_add(in->metrics.events_read, (int64_t)(in->batch.events - before));
}

static void handle_record(struct ingest *in, const struct kafka_message *message, int64_t now_us)
{
	struct offsets_partition *p = offsets_find(&in->assignment.offsets, message->partition);
	if (!p) {
		assignment_handle_stray(&in->assignment, message->partition);
		return;
	}
	if (!assignment_accepts(&in->assignment, p, message))
		return;
	size_t before = in->batch.events;
	batch_open(&in->batch, message, p, &in->assignment.record);
	add_events(in, p, now_us, before);
}

/* The batch before was full. Nothing is polled until all events of its last record are taken. */
static enum err continue_record(struct ingest *in)
{
	struct batch_record *record = &in->assignment.record;
	struct offsets_partition *p =
		offsets_find(&in->assignment.offsets, record->message.partition);
	record->is_open = p != NULL;
	if (p)
		add_events(in, p, clock_now_us(in->config.clock), in->batch.events);
	return OK;
}

/*
 * Waits for a record, then takes those that are there already, without a look at the clock for
 * each. OK: there was one.
 */
static enum err poll_some(struct ingest *in, int64_t timeout_ms)
{
	struct kafka_message message;
	int64_t count = 0;
	enum err err = kafka_consumer_poll(in->consumer, timeout_ms, &message);
	atomic_store(&in->kafka_reachable, err == OK || kafka_consumer_is_reachable(in->consumer));
	int64_t now_us = clock_now_us(in->config.clock);
	while (err == OK) {
		handle_record(in, &message, now_us);
		if (++count == POLL_RECORDS_MAX || batch_is_full(&in->batch))
			break;
		err = kafka_consumer_poll(in->consumer, 0, &message);
	}
	/* It may seek, which ends the life of the record. */
	if (!in->assignment.record.is_open)
		assignment_check_ranges(&in->assignment);
	return err == ERR_INTERNAL || count == 0 ? err : OK;
}

/*
 * Polls until the batch is full, or nothing comes and the batch is empty, or batch_ms have passed
 * since the batch's first event and the writer is idle.
 */
static enum state gather(struct ingest *in)
{
	int64_t deadline_us = 0;
	while (!batch_is_full(&in->batch) && !thread_is_stopping(in->thread)) {
		int64_t left_ms = IDLE_POLL_MS;
		if (!batch_is_empty(&in->batch)) {
			int64_t now_us = steady_us(in);
			if (deadline_us == 0)
				deadline_us = now_us + in->config.batch_ms * CLOCK_US_PER_MS;
			left_ms = (deadline_us - now_us) / CLOCK_US_PER_MS;
			if (left_ms <= 0 && !batch_writer_is_busy(in->writer))
				break;
			if (left_ms <= 0)
				left_ms = BUSY_POLL_MS;
		}
		enum err err = in->assignment.record.is_open ? continue_record(in)
		                                             : poll_some(in, left_ms);
		if (err == ERR_INTERNAL)
			return STATE_RENEW_CONSUMER;
		if (err != OK && batch_is_empty(&in->batch))
			break;
	}
	return STATE_WRITE;
}

static enum state write_batch(struct ingest *in)
{
	bool has_batch = !batch_is_empty(&in->batch);
	if (!has_batch && batch_writer_is_busy(in->writer))
		return STATE_RECORD_HALTS;
	batch_sort(&in->batch);
	if (!finish_write(in))
		return STATE_REJOIN;
	if (!has_batch)
		return STATE_RECORD_HALTS;
	if (in->validated_us != in->assignment.changed_us) {
		in->validated_us = in->assignment.changed_us;
		visit_store_invalidate(in->store);
	}
	batch_writer_start(in->writer, &in->batch, &in->assignment.offsets);
	in->is_writing = true;
	return STATE_RECORD_HALTS;
}

/* After STATE_WRITE, so that everything read before the halt is counted first. */
static enum state record_halts(struct ingest *in)
{
	if (!assignment_has_unrecorded_halt(&in->assignment))
		return STATE_MARK_CAUGHT_UP;
	if (!finish_write(in))
		return STATE_REJOIN;
	assignment_record_halts(&in->assignment);
	return STATE_MARK_CAUGHT_UP;
}

static bool is_mark_due(const struct ingest *in, int64_t now_us)
{
	int64_t since_us = in->marked_us > in->assignment.changed_us ? in->marked_us
	                                                             : in->assignment.changed_us;
	return (now_us - since_us >= MARK_INTERVAL_MS * CLOCK_US_PER_MS ||
	        assignment_has_undated(&in->assignment)) &&
	       atomic_load(&in->kafka_reachable);
}

/*
 * Once everything polled is stored, marks the partitions in which nothing else waits, however busy
 * the others are. Statistics can then distinguish "no clicks" from "not counted yet".
 */
static enum state mark_caught_up(struct ingest *in)
{
	int64_t now_us = steady_us(in);
	if (!is_mark_due(in, now_us))
		return gather_or_end(in);
	if (!finish_write(in))
		return STATE_REJOIN;
	in->marked_us = now_us;
	int64_t as_of_us = clock_now_us(in->config.clock) - AS_OF_MARGIN_US;
	if (!assignment_find_caught_up(&in->assignment))
		return gather_or_end(in);
	enum err err = batch_writer_flush(in->writer);
	if (err == OK)
		assignment_mark_published(&in->assignment, as_of_us);
	else if (err != ERR_UNAVAILABLE)
		assignment_rejoin(&in->assignment);
	return gather_or_end(in);
}

static enum state rejoin(struct ingest *in)
{
	if (!thread_is_stopping(in->thread))
		kafka_consumer_rejoin(in->consumer);
	return gather_or_end(in);
}

/* By each worker itself, all at once: one that is joining waits until the others join or leave. */
static void leave_group(struct ingest *in)
{
	interrupt_write(in);
	kafka_consumer_free(in->consumer);
	in->consumer = NULL;
}

/* The new consumer starts from the stored offsets. */
static enum state renew_consumer(struct ingest *in)
{
	atomic_store(&in->kafka_reachable, false);
	leave_group(in);
	assignment_discard_batch(&in->assignment);
	while (make_consumer(in) != OK && !thread_wait_ms(in->thread, RENEW_PAUSE_MS))
		continue;
	return gather_or_end(in);
}

/*
 *   GATHER ──► WRITE ──► RECORD_HALTS ──► MARK_CAUGHT_UP ──► GATHER, or END
 *      │         └────────────┴───────────────┴─ a write failed ──► REJOIN ──► GATHER, or END
 *      └─ the consumer failed ──► RENEW_CONSUMER ──► GATHER, or END
 */
static void run(void *ctx)
{
	struct ingest *in = ctx;
	enum state state = gather_or_end(in);
	while (state != STATE_END) {
		switch (state) {
		case STATE_GATHER:
			state = gather(in);
			break;
		case STATE_WRITE:
			state = write_batch(in);
			break;
		case STATE_RECORD_HALTS:
			state = record_halts(in);
			break;
		case STATE_MARK_CAUGHT_UP:
			state = mark_caught_up(in);
			break;
		case STATE_REJOIN:
			state = rejoin(in);
			break;
		case STATE_RENEW_CONSUMER:
			state = renew_consumer(in);
			break;
		case STATE_END:
			break;
		}
	}
	leave_group(in);
}

/* --- start and stop --- */

static enum err make_producer(struct ingest *in)
{
	const struct kafka_producer_config config = {
		.kafka = in->config.kafka,
		.topics = { in->config.visits_topic, in->config.dead_letter_topic },
		.queue_max = QUEUE_MAX,
		.queue_bytes_max = QUEUE_BYTES_MAX,
		.linger_ms = LINGER_MS,
		.message_timeout_ms = 0,
		.delivered = publish_delivered,
		.log = in->config.log,
		.metrics = in->config.metrics,
	};
	return kafka_producer_new(&config, &in->producer);
}

static enum err make_parts(struct ingest *in)
{
	const struct ingest_config *config = &in->config;
	in->thread = thread_new();
	ingest_metrics_register(&in->metrics, config->metrics);
	batch_init(&in->batch, config->batch_events, config->topic, config->dead_letter_topic);
	enum err err = make_producer(in);
	if (err != OK)
		return err;
	in->publisher = publish_visits_new(in->producer, config->visits_topic);
	const struct visit_store_config store = { .pool = config->pool,
		                                  .producer = in->producer,
		                                  .topic = config->topic,
		                                  .visits_max = config->batch_events,
		                                  .log = config->log };
	in->store = visit_store_new(&store);
	const struct batch_writer_config writer = { .batch_events = config->batch_events,
		                                    .topic = config->topic,
		                                    .dead_letter_topic = config->dead_letter_topic,
		                                    .store = in->store,
		                                    .publisher = in->publisher,
		                                    .thread = in->thread,
		                                    .metrics = &in->metrics,
		                                    .clock = config->clock,
		                                    .log = config->log };
	in->writer = batch_writer_new(&writer);
	in->assignment = (struct assignment){ .pool = config->pool,
		                              .topic = config->topic,
		                              .publisher = in->publisher,
		                              .batch = &in->batch,
		                              .metrics = &in->metrics,
		                              .clock = config->clock,
		                              .log = config->log };
	return make_consumer(in);
}

static void free_parts(struct ingest *in)
{
	kafka_consumer_free(in->consumer); /* the first: it still needs everything else */
	kafka_producer_free(in->producer);
	batch_writer_free(in->writer);
	publish_visits_free(in->publisher);
	visit_store_free(in->store);
	assignment_clear(&in->assignment);
	batch_clear(&in->batch);
	thread_free(in->thread);
	free(in);
}

enum err ingest_start(const struct ingest_config *config, struct ingest **out)
{
	struct ingest *in = mem_zero(sizeof(*in));
	in->config = *config;
	enum err err = make_parts(in);
	if (err != OK) {
		free_parts(in);
		return err;
	}
	thread_start(in->thread, "ingest", run, in);
	*out = in;
	return OK;
}

void ingest_end(struct ingest *ingest)
{
	if (ingest)
		thread_request_stop(ingest->thread);
}

void ingest_stop(struct ingest *ingest)
{
	if (!ingest)
		return;
	thread_stop(ingest->thread);
	free_parts(ingest);
}

bool ingest_kafka_is_reachable(void *ctx)
{
	const struct ingest *in = ctx;
	return atomic_load(&in->kafka_reachable) && kafka_producer_is_reachable(in->producer);
}

bool ingest_has_no_halted_partition(void *ctx)
{
	const struct ingest *in = ctx;
	return atomic_load(&in->assignment.halted_count) == 0;
}

bool ingest_can_store(void *ctx)
{
	const struct ingest *in = ctx;
	return !batch_writer_is_refused(in->writer);
}

bool ingest_can_send_dead_letters(void *ctx)
{
	const struct ingest *in = ctx;
	return !batch_writer_is_waiting_for_dead_letters(in->writer);
}
