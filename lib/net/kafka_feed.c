/*
 * librdkafka's consumer groups are of no use here (a group.id that nobody shares would leave its traces on the
 * brokers), so the partitions are read the old way, by rd_kafka_consume_start_queue into one queue.
 */
#include "lib/net/kafka_feed.h"

#include <librdkafka/rdkafka.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/net/kafka_client.h"

#define LOOK_MS 5000
#define LOOK_RETRY_MS 250
#define METADATA_TIMEOUT_MS 250

struct kafka_feed {
	struct kafka_client client; /* first: librdkafka hands it back */
	struct kafka_feed_config config;
	rd_kafka_t *rk;
	rd_kafka_topic_t *topic;
	rd_kafka_queue_t *queue;
	rd_kafka_message_t *borrowed;
	int32_t partitions;    /* that are read */
	int64_t look_again_us; /* steady */
	bool failed;
};

static void take_fatal(struct kafka_client *client)
{
	struct kafka_feed *feed = (struct kafka_feed *)client;
	log_error(client->log, "kafka_feed_failed");
	feed->failed = true;
}

static enum err open_queue(struct kafka_feed *feed, const struct kafka_config *kafka)
{
	const struct kafka_setting settings[] = {
		{ "enable.auto.commit", "false" },
		{ "enable.auto.offset.store", "false" },
		{ "auto.offset.reset", "error" },
		/* What comes late is worth less here than what comes soon. */
		{ "fetch.wait.max.ms", "100" },
		{ "fetch.error.backoff.ms", "100" },
		{ "queued.max.messages.kbytes", "16384" },
	};
	rd_kafka_conf_t *conf = NULL;
	enum err err =
		kafka_client_configure(&feed->client, kafka, settings, sizeof(settings) / sizeof(settings[0]), &conf);
	if (err != OK)
		return err;
	char why[256];
	feed->rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof(why));
	if (!feed->rk) {
		log_error(feed->client.log, "kafka_configuration_refused", LOG_TEXT("message", why));
		rd_kafka_conf_destroy(conf);
		return ERR_INVALID;
	}
	feed->queue = rd_kafka_queue_new(feed->rk);
	feed->topic = rd_kafka_topic_new(feed->rk, feed->config.topic, NULL);
	return feed->topic ? OK : ERR_INVALID;
}

enum err kafka_feed_new(const struct kafka_feed_config *config, struct kafka_feed **out)
{
	struct kafka_feed *feed = mem_zero(sizeof(*feed));
	feed->config = *config;
	feed->client.log = config->log;
	feed->client.fatal = take_fatal;
	enum err err = open_queue(feed, config->kafka);
	feed->config.kafka = NULL;
	if (err == OK)
		*out = feed;
	else
		kafka_feed_free(feed);
	return err;
}

static void return_borrowed(struct kafka_feed *feed)
{
	if (feed->borrowed)
		rd_kafka_message_destroy(feed->borrowed);
	feed->borrowed = NULL;
}

void kafka_feed_free(struct kafka_feed *feed)
{
	if (!feed)
		return;
	return_borrowed(feed);
	for (int32_t p = 0; p < feed->partitions; p++)
		rd_kafka_consume_stop(feed->topic, p);
	if (feed->topic)
		rd_kafka_topic_destroy(feed->topic);
	if (feed->queue)
		rd_kafka_queue_destroy(feed->queue);
	if (feed->rk)
		rd_kafka_destroy(feed->rk);
	free(feed);
}

static bool start(struct kafka_feed *feed, int32_t partition, int64_t offset)
{
	if (rd_kafka_consume_start_queue(feed->topic, partition, offset, feed->queue) == 0)
		return true;
	log_warning(feed->client.log, "kafka_feed_start_failed", LOG_INT("partition", partition),
	            LOG_TEXT("message", rd_kafka_err2str(rd_kafka_last_error())));
	return false;
}

static void look_for_partitions(struct kafka_feed *feed)
{
	int64_t now_us = clock_steady_us(clock_system());
	if (now_us < feed->look_again_us)
		return;
	int32_t count = 0;
	enum err err = kafka_client_count_partitions(&feed->client, feed->rk, feed->topic, METADATA_TIMEOUT_MS, &count);
	int64_t pause_ms = err == OK || feed->partitions > 0 ? LOOK_MS : LOOK_RETRY_MS;
	feed->look_again_us = now_us + pause_ms * CLOCK_US_PER_MS;
	if (err != OK || count <= feed->partitions)
		return;
	int64_t offset = feed->partitions == 0 ? RD_KAFKA_OFFSET_END : RD_KAFKA_OFFSET_BEGINNING;
	while (feed->partitions < count && start(feed, feed->partitions, offset))
		feed->partitions++;
	if (feed->partitions < count)
		return;
	log_info(feed->client.log, "kafka_feed_reads", LOG_TEXT("topic", feed->config.topic),
	         LOG_INT("partitions", count));
	feed->config.events.found(feed->config.ctx, count);
}

/* Reads it from its end again. */
static void lose(struct kafka_feed *feed, int32_t partition)
{
	log_warning(feed->client.log, "kafka_feed_lost_its_place", LOG_INT("partition", partition));
	feed->config.events.lost(feed->config.ctx, partition);
	rd_kafka_consume_stop(feed->topic, partition);
	start(feed, partition, RD_KAFKA_OFFSET_END);
}

/* What librdkafka reports in the place of a record. */
static void take_error(struct kafka_feed *feed, const rd_kafka_message_t *m)
{
	bool of_partition = m->partition >= 0 && m->partition < feed->partitions;
	switch (m->err) {
	case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
	case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
	case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
	case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
		if (of_partition)
			lose(feed, m->partition);
		break;
	default:
		if (kafka_client_is_refused(&feed->client, m->err, feed->config.topic))
			break;
		/* Passing trouble: librdkafka goes on by itself, where it stopped. */
		log_debug(feed->client.log, "kafka_feed_trouble", LOG_TEXT("message", rd_kafka_message_errstr(m)));
		break;
	}
}

static enum err nothing_came(const struct kafka_feed *feed)
{
	if (feed->failed)
		return ERR_INTERNAL;
	return atomic_load(&feed->client.reachable) ? ERR_NOT_FOUND : ERR_UNAVAILABLE;
}

enum err kafka_feed_poll(struct kafka_feed *feed, int64_t timeout_ms, struct kafka_message *message)
{
	return_borrowed(feed);
	rd_kafka_poll(feed->rk, 0);
	look_for_partitions(feed);
	rd_kafka_message_t *m = rd_kafka_consume_queue(feed->queue, (int)timeout_ms);
	if (!m)
		return nothing_came(feed);
	feed->borrowed = m;
	if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
		take_error(feed, m);
		return nothing_came(feed);
	}
	kafka_message_fill(message, m);
	return OK;
}

enum err kafka_feed_header(const struct kafka_feed *feed, const char *name, char *out, size_t size)
{
	return kafka_message_header(feed->borrowed, name, out, size);
}

void kafka_feed_look(struct kafka_feed *feed)
{
	feed->look_again_us = 0;
}
