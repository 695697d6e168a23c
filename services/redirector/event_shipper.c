#include "services/redirector/event_shipper.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/net/cloud_event.h"
#include "lib/net/kafka_producer.h"

#define SOURCE "/waymark/redirector"
/* Statistics are no worse for it, and the broker gets whole batches instead of handfuls. */
#define LINGER_MS 20
/* Fewer records than this never bound the queue before its bytes do. */
#define EVENT_BYTES_LEAST 128

struct event_shipper {
	struct kafka_producer *producer;
	const struct log *log;
	uint8_t instance[ENTROPY_UUID_SIZE];
	pthread_mutex_t order; /* the sequence is the order in which records are sent */
	uint64_t sequence;
	struct strbuf record;
	atomic_bool is_dropping;
	atomic_uint_fast64_t accepted;
	atomic_uint_fast64_t acked;
	atomic_uint_fast64_t dropped;
	struct metric *accepted_total;
	struct metric *acked_total;
	struct metric *queued;
	struct metric *dropped_total;
};

/* accepted is raised before its event can be acked or dropped, and is read after both: it is never too low. */
struct event_shipper_counts event_shipper_count(const struct event_shipper *shipper)
{
	struct event_shipper_counts counts;
	counts.acked = atomic_load(&shipper->acked);
	counts.dropped = atomic_load(&shipper->dropped);
	counts.accepted = atomic_load(&shipper->accepted);
	counts.queued = counts.accepted - counts.acked - counts.dropped;
	return counts;
}

static void show_counts(void *ctx)
{
	struct event_shipper *shipper = ctx;
	struct event_shipper_counts counts = event_shipper_count(shipper);
	metrics_set(shipper->accepted_total, (int64_t)counts.accepted);
	metrics_set(shipper->acked_total, (int64_t)counts.acked);
	metrics_set(shipper->queued, (int64_t)counts.queued);
	metrics_set(shipper->dropped_total, (int64_t)counts.dropped);
}

static void register_metrics(struct event_shipper *shipper, struct metrics *m)
{
	shipper->accepted_total =
		metrics_counter(m, "waymark_events_accepted_total", "Events of answered redirects.", NULL);
	shipper->acked_total = metrics_counter(m, "waymark_events_acked_total", "Events that Kafka has.", NULL);
	shipper->queued = metrics_gauge(m, "waymark_events_queued", "Events that wait for Kafka's ack.", NULL);
	shipper->dropped_total = metrics_counter(m, "waymark_events_dropped_total",
	                                         "Events lost: no room to keep them, or Kafka refused them.", NULL);
	metrics_before_render(m, show_counts, shipper);
}

/* Logs once per row of losses, not once per loss: there may be thousands a second. */
static void drop(struct event_shipper *shipper, enum err reason)
{
	if (!atomic_exchange(&shipper->is_dropping, true))
		log_error(shipper->log, "events_dropped", LOG_TEXT("reason", err_name(reason)));
	atomic_fetch_add(&shipper->dropped, 1);
}

static void delivered(void *ctx, void *opaque, enum err result)
{
	struct event_shipper *shipper = ctx;
	(void)opaque;
	if (result != OK) {
		drop(shipper, result);
		return;
	}
	if (atomic_load_explicit(&shipper->is_dropping, memory_order_relaxed))
		atomic_store(&shipper->is_dropping, false);
	atomic_fetch_add(&shipper->acked, 1);
}

enum err event_shipper_new(const struct event_shipper_config *config, struct event_shipper **out)
{
	struct event_shipper *shipper = mem_zero(sizeof(*shipper));
	shipper->log = config->log;
	entropy_uuid4(shipper->instance);
	struct kafka_producer_config producer = {
		.kafka = config->kafka,
		.queue_max = config->bytes_max / EVENT_BYTES_LEAST,
		.queue_bytes_max = config->bytes_max,
		.linger_ms = LINGER_MS,
		.message_timeout_ms = 0,
		.delivered = delivered,
		.ctx = shipper,
		.log = config->log,
		.metrics = config->metrics,
	};
	enum err e = kafka_producer_new(&producer, &shipper->producer);
	if (e != OK) {
		free(shipper);
		return e;
	}
	pthread_mutex_init(&shipper->order, NULL);
	strbuf_init(&shipper->record, REDIRECT_EVENT_BYTES_MAX);
	register_metrics(shipper, config->metrics);
	*out = shipper;
	return OK;
}

static enum err send(struct event_shipper *shipper, const struct redirect_event *event)
{
	strbuf_reset(&shipper->record);
	redirect_event_encode(event, &shipper->record);
	enum err e = strbuf_status(&shipper->record);
	if (e != OK)
		return e;
	struct cloud_event headers;
	struct kafka_record record = {
		.topic = REDIRECT_EVENT_TOPIC,
		.key = event->slug,
		.key_len = strlen(event->slug),
		.value = shipper->record.data,
		.value_len = shipper->record.len,
	};
	cloud_event_headers(&headers, event->event_id, event->occurred_at_us, REDIRECT_EVENT_TYPE, SOURCE, event->slug,
	                    &record);
	return kafka_producer_send(shipper->producer, &record);
}

void event_shipper_append(struct event_shipper *shipper, struct redirect_event *event)
{
	atomic_fetch_add(&shipper->accepted, 1);
	memcpy(event->instance, shipper->instance, sizeof(event->instance));
	pthread_mutex_lock(&shipper->order);
	event->sequence = ++shipper->sequence;
	enum err e = send(shipper, event);
	pthread_mutex_unlock(&shipper->order);
	if (e != OK)
		drop(shipper, e);
}

enum err event_shipper_flush(struct event_shipper *shipper, int64_t timeout_ms)
{
	enum err e = kafka_producer_flush(shipper->producer, timeout_ms);
	if (e != OK)
		log_error(shipper->log, "events_left_behind", LOG_INT("events", event_shipper_count(shipper).queued));
	return e;
}

void event_shipper_free(struct event_shipper *shipper)
{
	if (!shipper)
		return;
	kafka_producer_free(shipper->producer);
	strbuf_clear(&shipper->record);
	pthread_mutex_destroy(&shipper->order);
	free(shipper);
}
