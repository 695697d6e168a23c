#include "lib/kafka/kafka_consumer.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/kafka/kafka_client.h"

#define ASSIGN_RETRY_MS 500
#define SEEK_TIMEOUT_MS 5000
#define OFFSET_RANGE_TIMEOUT_MS 5000
#define HEARTBEAT_MAX_MS 500
#define MAX_POLL_INTERVAL_MS 300000
/*
 * From a backlog a broker sends this much of one partition before the next: long runs of few keys,
 * which a batch can aggregate. Both values bound the memory of a response.
 */
#define PARTITION_FETCH_BYTES "4194304"
#define FETCH_BYTES "16777216"

struct position {
	int32_t partition;
	/*
	 * Offset of the next record to poll, or KAFKA_CONSUMER_BEGINNING, or KAFKA_CONSUMER_HALTED.
	 */
	int64_t next;
};

struct kafka_consumer {
	/* First: it is librdkafka's opaque. */
	struct kafka_client client;
	struct kafka_consumer_config config;
	rd_kafka_t *rk;
	rd_kafka_topic_t *topic;
	rd_kafka_message_t *borrowed;
	bool failed;
	/* Our user may not use the group or the topic. */
	_Atomic bool unauthorized;
	/* Assigned, but the start offsets are not known yet. */
	rd_kafka_topic_partition_list_t *pending;
	/* Steady; when to query them again. */
	int64_t retry_us;
	/* Of the partitions that are read, in assignment order. */
	struct position *positions;
	size_t position_count;
	struct metric *messages;
};

static struct position *position_of(const struct kafka_consumer *c, int32_t partition)
{
	for (size_t i = 0; i < c->position_count; i++) {
		if (c->positions[i].partition == partition)
			return &c->positions[i];
	}
	return NULL;
}

static void clear_pending(struct kafka_consumer *c)
{
	if (c->pending)
		rd_kafka_topic_partition_list_destroy(c->pending);
	c->pending = NULL;
}

/* Gets the start offsets from the caller. */
static enum err query_offsets(struct kafka_consumer *c, rd_kafka_topic_partition_list_t *list)
{
	size_t count = (size_t)list->cnt;
	int32_t *partitions = mem_array(count, sizeof(*partitions));
	int64_t *offsets = mem_array(count, sizeof(*offsets));
	for (size_t i = 0; i < count; i++)
		partitions[i] = list->elems[i].partition;
	enum err err = c->config.events.assigned(c->config.ctx, partitions, count, offsets);
	for (size_t i = 0; i < count && err == OK; i++) {
		if (offsets[i] < 0 && offsets[i] != KAFKA_CONSUMER_BEGINNING &&
		    offsets[i] != KAFKA_CONSUMER_HALTED)
			err = ERR_INTERNAL;
		list->elems[i].offset = offsets[i];
	}
	free(partitions);
	free(offsets);
	return err;
}

static void set_positions(struct kafka_consumer *c, const rd_kafka_topic_partition_list_t *list)
{
	c->position_count = (size_t)list->cnt;
	c->positions = mem_resize(c->positions, c->position_count, sizeof(*c->positions));
	for (size_t i = 0; i < c->position_count; i++)
		c->positions[i] =
			(struct position){ list->elems[i].partition, list->elems[i].offset };
}

/* Assigns all positions again, each at its next offset. */
static rd_kafka_resp_err_t assign_positions(struct kafka_consumer *c)
{
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new((int)c->position_count);
	for (size_t i = 0; i < c->position_count; i++) {
		const struct position *p = &c->positions[i];
		if (p->next != KAFKA_CONSUMER_HALTED)
			rd_kafka_topic_partition_list_add(list, c->config.topic, p->partition)
				->offset = p->next;
	}
	rd_kafka_resp_err_t code = rd_kafka_assign(c->rk, list);
	rd_kafka_topic_partition_list_destroy(list);
	return code;
}

static void try_assign(struct kafka_consumer *c)
{
	c->retry_us = clock_steady_us(clock_system()) + ASSIGN_RETRY_MS * CLOCK_US_PER_MS;
	if (query_offsets(c, c->pending) != OK)
		return;
	/* Even if the assignment fails: the caller owns the partitions, must see them revoked. */
	set_positions(c, c->pending);
	rd_kafka_resp_err_t code = assign_positions(c);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
		log_error(c->client.log, "kafka_assign_failed",
		          LOG_TEXT("message", rd_kafka_err2str(code)));
		return;
	}
	log_info(c->client.log, "kafka_partitions_assigned", LOG_INT("count", c->position_count));
	clear_pending(c);
}

static void revoke_all(struct kafka_consumer *c)
{
	bool had_partitions = c->position_count > 0;
	bool lost = rd_kafka_assignment_lost(c->rk);
	clear_pending(c);
	c->position_count = 0;
	if (had_partitions) {
		log_info(c->client.log, "kafka_partitions_revoked", LOG_BOOL("lost", lost));
		c->config.events.revoked(c->config.ctx, lost);
	}
	rd_kafka_assign(c->rk, NULL);
}

static void on_rebalance(rd_kafka_t *rk, rd_kafka_resp_err_t code,
                         rd_kafka_topic_partition_list_t *list, void *opaque)
{
	struct kafka_consumer *c = opaque;
	if (code != RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
		revoke_all(c);
		return;
	}
	kafka_client_set_reachable(&c->client);
	atomic_store(&c->unauthorized, false);
	clear_pending(c);
	if (list->cnt == 0) {
		rd_kafka_assign(rk, list);
		return;
	}
	/* An empty assignment acknowledges the rebalance; reading starts with the offsets. */
	c->pending = rd_kafka_topic_partition_list_copy(list);
	try_assign(c);
	if (c->pending)
		rd_kafka_assign(rk, NULL);
}

static void on_fatal(struct kafka_client *client)
{
	struct kafka_consumer *c = (struct kafka_consumer *)client;
	char why[256] = "";
	rd_kafka_fatal_error(c->rk, why, sizeof(why));
	log_error(client->log, "kafka_consumer_failed", LOG_TEXT("message", why));
	c->failed = true;
}

static enum err subscribe(struct kafka_consumer *c)
{
	rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(topics, c->config.topic, RD_KAFKA_PARTITION_UA);
	rd_kafka_resp_err_t code = rd_kafka_subscribe(c->rk, topics);
	rd_kafka_topic_partition_list_destroy(topics);
	if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
		return OK;
	log_error(c->client.log, "kafka_subscribe_failed",
	          LOG_TEXT("message", rd_kafka_err2str(code)));
	return ERR_INVALID;
}

static enum err configure(struct kafka_consumer *c, rd_kafka_conf_t **out)
{
	int64_t session_ms = c->config.session_timeout_ms;
	int64_t heartbeat_ms =
		session_ms / 3 < HEARTBEAT_MAX_MS ? session_ms / 3 : HEARTBEAT_MAX_MS;
	char session[24];
	char heartbeat[24];
	char interval[24];
	snprintf(session, sizeof(session), "%lld", (long long)session_ms);
	snprintf(heartbeat, sizeof(heartbeat), "%lld", (long long)heartbeat_ms);
	snprintf(
		interval, sizeof(interval), "%lld",
		(long long)(session_ms > MAX_POLL_INTERVAL_MS ? session_ms : MAX_POLL_INTERVAL_MS));
	const struct kafka_setting settings[] = {
		{ "group.id", c->config.group },
		{ "session.timeout.ms", session },
		{ "heartbeat.interval.ms", heartbeat },
		{ "max.poll.interval.ms", interval },
		{ "partition.assignment.strategy", "range" },
		{ "enable.auto.commit", "false" },
		{ "enable.auto.offset.store", "false" },
		{ "auto.offset.reset", "error" },
		{ "max.partition.fetch.bytes", PARTITION_FETCH_BYTES },
		{ "fetch.max.bytes", FETCH_BYTES },
	};
	return kafka_client_configure(&c->client, c->config.kafka, settings, ARRAY_SIZE(settings),
	                              out);
}

static enum err connect_group(struct kafka_consumer *c)
{
	rd_kafka_conf_t *conf = NULL;
	enum err err = configure(c, &conf);
	if (err != OK)
		return err;
	rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
	c->rk = kafka_client_open(&c->client, RD_KAFKA_CONSUMER, conf);
	if (!c->rk)
		return ERR_INVALID;
	rd_kafka_poll_set_consumer(c->rk);
	c->topic = rd_kafka_topic_new(c->rk, c->config.topic, NULL);
	return c->topic ? subscribe(c) : ERR_INVALID;
}

enum err kafka_consumer_new(const struct kafka_consumer_config *config, struct kafka_consumer **out)
{
	struct kafka_consumer *c = mem_zero(sizeof(*c));
	c->config = *config;
	c->client.log = config->log;
	c->client.on_fatal = on_fatal;
	if (config->metrics)
		c->messages =
			metrics_counter(config->metrics, "waymark_kafka_consumed_total",
		                        "Records polled, including repeats after a seek", NULL);
	enum err err = connect_group(c);
	if (err == OK)
		*out = c;
	else
		kafka_consumer_free(c);
	return err;
}

/* Handles an error that librdkafka returns in place of a record. */
static void handle_error(struct kafka_consumer *c, const rd_kafka_message_t *m)
{
	if (m->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET) {
		const struct position *position = position_of(c, m->partition);
		int64_t offset = position ? position->next : m->offset;
		log_error(c->client.log, "kafka_offset_out_of_range",
		          LOG_INT("partition", m->partition), LOG_INT("offset", offset));
		if (position)
			c->config.events.offset_out_of_range(c->config.ctx, m->partition, offset);
		return;
	}
	bool is_group_error = m->err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED;
	if (kafka_client_is_unauthorized(&c->client, m->err,
	                                 is_group_error ? c->config.group : c->config.topic)) {
		/*
		 * No event reports the end of this state while partitions are read, so it is set
		 * only without partitions.
		 */
		if (is_group_error || c->position_count == 0)
			atomic_store(&c->unauthorized, true);
		return;
	}
	/* Transient (no topic yet, a coordinator moves): librdkafka retries by itself. */
	log_debug(c->client.log, "kafka_consumer_error",
	          LOG_TEXT("message", rd_kafka_message_errstr(m)));
}

static enum err no_record(const struct kafka_consumer *c)
{
	if (c->failed)
		return ERR_INTERNAL;
	return atomic_load(&c->client.reachable) ? ERR_NOT_FOUND : ERR_UNAVAILABLE;
}

static void release_borrowed(struct kafka_consumer *c)
{
	if (c->borrowed)
		rd_kafka_message_destroy(c->borrowed);
	c->borrowed = NULL;
}

enum err kafka_consumer_poll(struct kafka_consumer *c, int64_t timeout_ms,
                             struct kafka_message *message)
{
	release_borrowed(c);
	if (c->pending && clock_steady_us(clock_system()) >= c->retry_us)
		try_assign(c);
	if (c->pending && timeout_ms > ASSIGN_RETRY_MS)
		timeout_ms = ASSIGN_RETRY_MS;
	rd_kafka_message_t *m = rd_kafka_consumer_poll(c->rk, (int)timeout_ms);
	if (!m)
		return no_record(c);
	c->borrowed = m;
	if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
		handle_error(c, m);
		return no_record(c);
	}
	struct position *position = position_of(c, m->partition);
	if (!position || position->next == KAFKA_CONSUMER_HALTED)
		return no_record(c);
	position->next = m->offset + 1;
	metrics_add(c->messages, 1);
	kafka_message_fill(message, m);
	return OK;
}

enum err kafka_consumer_seek(struct kafka_consumer *c, int32_t partition, int64_t offset)
{
	release_borrowed(c);
	struct position *position = position_of(c, partition);
	if (!position || position->next == KAFKA_CONSUMER_HALTED)
		return ERR_NOT_FOUND;
	position->next = offset;
	rd_kafka_resp_err_t code = rd_kafka_seek(c->topic, partition, offset, SEEK_TIMEOUT_MS);
	/* librdkafka stopped a partition out of range; only a new assignment starts it. */
	if (code == RD_KAFKA_RESP_ERR__STATE)
		code = assign_positions(c);
	if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
		return OK;
	log_warning(c->client.log, "kafka_seek_failed", LOG_INT("partition", partition),
	            LOG_TEXT("message", rd_kafka_err2str(code)));
	return ERR_UNAVAILABLE;
}

enum err kafka_consumer_halt(struct kafka_consumer *c, int32_t partition)
{
	release_borrowed(c);
	struct position *position = position_of(c, partition);
	if (!position)
		return ERR_NOT_FOUND;
	position->next = KAFKA_CONSUMER_HALTED;
	return assign_positions(c) == RD_KAFKA_RESP_ERR_NO_ERROR ? OK : ERR_UNAVAILABLE;
}

enum err kafka_consumer_offset_range(struct kafka_consumer *c, int32_t partition, int64_t *first,
                                     int64_t *end)
{
	int64_t low = 0;
	int64_t high = 0;
	rd_kafka_resp_err_t code = rd_kafka_query_watermark_offsets(
		c->rk, c->config.topic, partition, &low, &high, OFFSET_RANGE_TIMEOUT_MS);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
		log_warning(c->client.log, "kafka_offset_range_unknown",
		            LOG_INT("partition", partition),
		            LOG_TEXT("message", rd_kafka_err2str(code)));
		return ERR_UNAVAILABLE;
	}
	*first = low;
	*end = high;
	return OK;
}

void kafka_consumer_rejoin(struct kafka_consumer *c)
{
	release_borrowed(c);
	/* With eager assignment a new subscription revokes everything and joins again. */
	if (subscribe(c) != OK)
		c->failed = true;
}

static int64_t lag_of(const struct kafka_consumer *c, const struct position *position)
{
	int64_t low = 0;
	int64_t high = 0;
	rd_kafka_resp_err_t code = rd_kafka_get_watermark_offsets(c->rk, c->config.topic,
	                                                          position->partition, &low, &high);
	int64_t next = position->next == KAFKA_CONSUMER_BEGINNING ? low : position->next;
	/* Unknown ends are negative. An end before us: an earlier owner's, or out of range. */
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR || next < 0 || high < next)
		return KAFKA_CONSUMER_LAG_UNKNOWN;
	return high - next;
}

int64_t kafka_consumer_lag(const struct kafka_consumer *c)
{
	int64_t sum = 0;
	for (size_t i = 0; i < c->position_count; i++) {
		int64_t lag = lag_of(c, &c->positions[i]);
		if (lag != KAFKA_CONSUMER_LAG_UNKNOWN)
			sum += lag;
	}
	return sum;
}

int64_t kafka_consumer_partition_lag(const struct kafka_consumer *c, int32_t partition)
{
	const struct position *position = position_of(c, partition);
	if (!position || c->pending || atomic_load(&c->client.overdue))
		return KAFKA_CONSUMER_LAG_UNKNOWN;
	return lag_of(c, position);
}

void kafka_consumer_commit_offset(struct kafka_consumer *c, int32_t partition, int64_t next_offset)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, c->config.topic, partition)->offset = next_offset;
	/* Only lag monitors read these offsets, so a failure does not matter. */
	(void)rd_kafka_commit(c->rk, list, 1);
	rd_kafka_topic_partition_list_destroy(list);
}

/*
 * librdkafka 2.0.2 does not wait for a rebalance callback that is queued when the consumer closes.
 * Its rd_kafka_assign, if it meets the end of the group, is never answered, so such callbacks run
 * first.
 */
static void close_consumer(struct kafka_consumer *c)
{
	rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(c->rk);
	for (size_t left = rd_kafka_queue_length(queue); left > 0; left--) {
		c->borrowed = rd_kafka_consumer_poll(c->rk, 0);
		release_borrowed(c);
	}
	rd_kafka_queue_destroy(queue);
	rd_kafka_consumer_close(c->rk);
}

void kafka_consumer_free(struct kafka_consumer *c)
{
	if (!c)
		return;
	release_borrowed(c);
	if (c->rk)
		close_consumer(c);
	clear_pending(c);
	if (c->topic)
		rd_kafka_topic_destroy(c->topic);
	if (c->rk)
		rd_kafka_destroy(c->rk);
	free(c->positions);
	free(c);
}

bool kafka_consumer_is_reachable(void *ctx)
{
	const struct kafka_consumer *c = ctx;
	return atomic_load(&c->client.reachable) && !atomic_load(&c->unauthorized);
}
