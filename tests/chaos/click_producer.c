/*
 * Takes the place of redirectors in the chaos tests of counting. It sends clicks to
 * waymark.redirects.v1 at a rate, --pack of them in one record. Now and then it sends the last of
 * them again, as a redirector does that was killed before Kafka's acknowledgement came. The file
 * --truth gets a line per click, with tabs between: event id, link, time, bot (t or f), latency
 * (µs), visitor, rule, variant, alias, "scan" or nothing.
 *
 * The key of a record decides its partition. It is the slug of the first click, or
 * "poison-KIND-NUMBER" if the record is poison, or has poison between two clicks.
 *
 * Standard input controls it. A line with a number sets the rate per second; 0 is as fast as Kafka
 * takes them. At the end of input the producer sends the rest of --clicks at full speed, waits
 * until Kafka has everything, and prints its totals.
 */
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/clicks/redirect_batch.h"
#include "lib/kafka/cloud_event.h"
#include "lib/kafka/kafka_producer.h"
#include "tests/chaos/click_source.h"

#define SOURCE "/waymark/redirector"
#define TICK_MS 5
#define QUEUE_FULL_PAUSE_MS 2
#define RESEND_COUNT 256 /* a power of two */
#define FLUSH_MS 900000

struct options {
	struct kafka_config kafka;
	const char *truth;
	uint64_t clicks;
	/* Clicks of a record. */
	uint64_t pack;
	/* Clicks; 0 = nothing is sent again. */
	uint64_t resend_every;
	/* Clicks; 0 = no poison is sent. */
	uint64_t poison_every;
	struct click_source source;
};

struct sent {
	struct redirect_event click;
	uint8_t bytes[REDIRECT_EVENT_BYTES_MAX];
	size_t len;
};

struct work {
	struct options options;
	struct kafka_producer *producer;
	struct log *log;
	FILE *truth;
	struct sent last[RESEND_COUNT];
	/* The record that is packed. */
	struct redirect_batch_writer writer;
	char key[SLUG_SIZE];
	uint8_t instance[ENTROPY_UUID_SIZE];
	uint64_t sequence;
	struct strbuf poison;
	uint64_t rate;
	/* Standard input has ended. */
	bool is_over;
	uint64_t clicks, repeats, poisoned;
};

/* --- sending --- */

/* Waits for Kafka as long as it takes. */
static void send(struct work *work, const struct kafka_record *record)
{
	enum err err;
	while ((err = kafka_producer_send(work->producer, record)) == ERR_LIMIT)
		poll(NULL, 0, QUEUE_FULL_PAUSE_MS);
	if (err != OK) {
		fprintf(stderr, "click_producer: Kafka refuses a record of %zu bytes\n",
		        record->value_len);
		exit(EXIT_FAILURE);
	}
}

static void set_headers(struct kafka_record *record, struct cloud_event *headers, const char *type)
{
	int64_t now_us = clock_now_us(clock_system());
	uint8_t id[ENTROPY_UUID_SIZE];
	entropy_uuid7(now_us, id);
	cloud_event_headers(headers, id, now_us, type, REDIRECT_BATCH_SCHEMA, SOURCE, NULL, record);
}

static void send_packed(struct work *work, const char *key)
{
	struct cloud_event headers;
	size_t len;
	if (work->writer.count == 0)
		return;
	void *value = redirect_batch_end(&work->writer, work->instance, &len);
	struct kafka_record record = { .topic = REDIRECT_BATCH_TOPIC,
		                       .key = key,
		                       .key_len = strlen(key),
		                       .value = value,
		                       .value_len = len };
	set_headers(&record, &headers, REDIRECT_BATCH_TYPE);
	send(work, &record);
	free(value);
}

static void pack(struct work *work, const struct sent *sent)
{
	if (work->writer.count == 0)
		snprintf(work->key, sizeof(work->key), "%s", sent->click.slug);
	redirect_batch_add(&work->writer, ++work->sequence, sent->bytes, sent->len);
}

static void send_if_full(struct work *work)
{
	if (work->writer.count >= work->options.pack)
		send_packed(work, work->key);
}

static void write_truth(struct work *work, const struct redirect_event *click, uint64_t visitor,
                        bool is_bot)
{
	char id[ENTROPY_UUID_TEXT_SIZE];
	char time[TIMESTAMP_TEXT_SIZE];
	entropy_uuid_format(click->event_id, id);
	timestamp_format_us(click->occurred_at_us, time);
	fprintf(work->truth, "%s\t%" PRId64 "\t%s\t%c\t%" PRIu32 "\t%" PRIu64 "\t%s\t%s\t%s\t%s\n",
	        id, click->link_id, time, is_bot ? 't' : 'f', click->latency_us, visitor,
	        click->rule, click->variant, click->alias, click->is_scan ? "scan" : "");
}

static void resend(struct work *work)
{
	for (uint64_t n = work->clicks > RESEND_COUNT ? work->clicks - RESEND_COUNT : 0;
	     n < work->clicks; n++) {
		pack(work, &work->last[n % RESEND_COUNT]);
		send_if_full(work);
		work->repeats++;
	}
}

static void next_click(struct work *work)
{
	struct sent *sent = &work->last[work->clicks++ % RESEND_COUNT];
	uint64_t visitor;
	bool is_bot;
	click_source_next(&work->options.source, &sent->click, &visitor, &is_bot);
	sent->len = redirect_event_encode(&sent->click, sent->bytes);
	write_truth(work, &sent->click, visitor, is_bot);
	pack(work, sent);
}

static void set_header(struct kafka_record *record, const char *name, const char *value)
{
	for (size_t i = 0; i < record->header_count; i++) {
		if (strcmp(record->headers[i].name, name) == 0)
			record->headers[i].value = value;
	}
}

static void send_poison(struct work *work)
{
	enum poison kind = work->poisoned % POISON_KINDS;
	const char *type;
	const char *content;
	char key[64];
	struct cloud_event headers;
	click_source_poison(&work->options.source, kind, &work->poison, &type, &content);
	snprintf(key, sizeof(key), "poison-%s-%" PRIu64, click_source_poison_name(kind),
	         work->poisoned++);
	if (kind < POISON_EVENTS) {
		send_packed(work, work->key);
		next_click(work);
		redirect_batch_add(&work->writer, ++work->sequence, work->poison.data,
		                   work->poison.len);
		next_click(work);
		send_packed(work, key);
		return;
	}
	struct kafka_record record = { .topic = REDIRECT_BATCH_TOPIC,
		                       .key = key,
		                       .key_len = strlen(key),
		                       .value = work->poison.len > 0 ? work->poison.data : "",
		                       .value_len = work->poison.len };
	set_headers(&record, &headers, type);
	set_header(&record, "content-type", content);
	send(work, &record);
}

static bool is_due(const struct work *work, uint64_t every)
{
	return every > 0 && work->clicks % every == 0;
}

static void click(struct work *work)
{
	next_click(work);
	send_if_full(work);
	if (is_due(work, work->options.resend_every))
		resend(work);
	if (is_due(work, work->options.poison_every))
		send_poison(work);
}

/* --- the rate --- */

static void read_rate(struct work *work)
{
	char line[64];
	ssize_t len = read(STDIN_FILENO, line, sizeof(line) - 1);
	work->is_over = len == 0;
	if (len <= 0)
		return;
	line[len] = '\0';
	work->rate = strtoull(line, NULL, 10);
}

static void send_until_end_of_input(struct work *work)
{
	int64_t due_us = clock_steady_us(clock_system());
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	while (!work->is_over) {
		if (poll(&input, 1, work->rate > 0 ? TICK_MS : 0) > 0) {
			read_rate(work);
			due_us = clock_steady_us(clock_system());
		}
		int64_t now_us = clock_steady_us(clock_system());
		if (work->rate == 0)
			click(work);
		for (; work->rate > 0 && due_us < now_us;
		     due_us += CLOCK_US_PER_S / (int64_t)work->rate)
			click(work);
	}
}

static bool work_through(struct work *work)
{
	send_until_end_of_input(work);
	while (work->clicks < work->options.clicks)
		click(work);
	if (work->options.resend_every > 0)
		resend(work);
	send_packed(work, work->key);
	return kafka_producer_flush(work->producer, FLUSH_MS) == OK && fclose(work->truth) == 0;
}

/* --- the command line --- */

static const struct option names[] = {
	{ "brokers", required_argument, NULL, 'b' },
	{ "truth", required_argument, NULL, 't' },
	{ "clicks", required_argument, NULL, 'c' },
	{ "pack", required_argument, NULL, 'k' },
	{ "first-link", required_argument, NULL, 'f' },
	{ "links", required_argument, NULL, 'l' },
	{ "visitors", required_argument, NULL, 'v' },
	{ "seed", required_argument, NULL, 's' },
	{ "rate", required_argument, NULL, 'r' },
	{ "poison-every", required_argument, NULL, 'p' },
	{ "resend-every", required_argument, NULL, 'e' },
	{ 0 },
};

static bool take_option(struct work *work, int name)
{
	struct options *o = &work->options;
	uint64_t number = strtoull(optarg ? optarg : "", NULL, 10);
	switch (name) {
	case 'b':
		snprintf(o->kafka.brokers, sizeof(o->kafka.brokers), "%s", optarg);
		return true;
	case 't':
		o->truth = optarg;
		return true;
	case 'c':
		o->clicks = number;
		return true;
	case 'k':
		o->pack = number;
		return number > 0 && number <= REDIRECT_BATCH_EVENTS_MAX;
	case 'f':
		o->source.first_link = (int64_t)number;
		return true;
	case 'l':
		o->source.links = number;
		return number > 0;
	case 'v':
		o->source.visitors = number;
		return number > 0;
	case 's':
		o->source.random = number;
		return true;
	case 'r':
		work->rate = number;
		return true;
	case 'e':
		o->resend_every = number;
		return true;
	case 'p':
		o->poison_every = number;
		return true;
	default:
		return false;
	}
}

static bool parse(int argc, char **argv, struct work *work)
{
	work->options.source = (struct click_source){ .links = 1, .visitors = 1000 };
	work->options.pack = 1;
	int name;
	while ((name = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (!take_option(work, name))
			return false;
	}
	return optind == argc && work->options.kafka.brokers[0] && work->options.truth &&
	       work->options.source.first_link > 0;
}

static bool begin(struct work *work)
{
	const struct kafka_producer_config config = { .kafka = &work->options.kafka,
		                                      .queue_max = 20000,
		                                      .queue_bytes_max = (size_t)64 * 1024 * 1024,
		                                      .linger_ms = 5,
		                                      .log = work->log };
	entropy_uuid4(work->instance);
	strbuf_init(&work->poison, CLICK_SOURCE_LARGE + 1);
	work->truth = fopen(work->options.truth, "we");
	if (!work->truth)
		perror(work->options.truth);
	return work->truth && kafka_producer_new(&config, &work->producer) == OK;
}

static void end(struct work *work)
{
	if (work->producer)
		kafka_producer_free(work->producer);
	redirect_batch_clear(&work->writer);
	strbuf_clear(&work->poison);
	log_free(work->log);
	free(work);
}

int main(int argc, char **argv)
{
	struct work *work = mem_zero(sizeof(*work));
	if (!parse(argc, argv, work)) {
		fprintf(stderr,
		        "usage: click_producer --brokers LIST --truth FILE --first-link ID [--links N] [--clicks N]"
		        " [--pack CLICKS] [--visitors N] [--seed N] [--rate PER_SECOND] [--poison-every CLICKS] [--resend-every CLICKS]\n");
		free(work);
		return 64;
	}
	redirect_batch_init(&work->writer);
	work->log = log_new("click_producer", LOG_WARNING, STDERR_FILENO);
	bool is_done = begin(work) && work_through(work);
	printf("{\"clicks\": %" PRIu64 ", \"repeats\": %" PRIu64 ", \"poisoned\": %" PRIu64 "}\n",
	       work->clicks, work->repeats, work->poisoned);
	end(work);
	return is_done ? EXIT_SUCCESS : EXIT_FAILURE;
}
