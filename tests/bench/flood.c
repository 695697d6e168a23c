/*
 * Sends clicks to Kafka as fast as possible, for tests/bench/run ingest: bench_flood BROKERS COUNT
 * LINKS SEED [RATE [random]]. They are packed into records as by a redirector that answers RATE
 * clicks a second, 20,000 if it is left out.
 *
 * The clicks resemble the last hour of real ones, in the order of time. Links follow Zipf's law.
 * Half a million visitors each have a fixed network, language and one of about 300 user agents; one
 * in twelve is a program. One click in four is from one of fifty regular visitors of its link, half
 * have a referrer, again by Zipf's law, and one in six comes from a campaign. The same SEED gives
 * the same clicks, except for the ids.
 *
 * With "random", each click has its own referrer and UTM parameters, and any language, as somebody
 * sends them who wants statistics to grow.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/base/number.h"
#include "lib/clicks/redirect_batch.h"
#include "lib/kafka/cloud_event.h"
#include "lib/kafka/kafka_producer.h"
#include "services/redirector/events/event_packer.h"

#define VISITORS 500000
#define REGULARS 50
#define NETWORKS 20000
#define REFERRERS 60
#define LINKS_MAX 10000000
#define SPAN_US CLOCK_US_PER_HOUR
#define FLUSH_MS 60000
#define RATE 20000
#define RATE_MAX 10000000
/* Of a redirector's journal. */
#define SHARDS 4
#define PARTITIONS_PAUSE_US 100000
#define PARTITIONS_TRIES 600
#define QUEUE_FULL_PAUSE_US 500

/* Cumulative shares by rank. */
struct zipf {
	size_t count;
	double *cumulative;
};

struct flood {
	uint64_t random;
	bool has_random_values;
	struct zipf links;
	struct zipf referrers;
	uint32_t *networks;
	struct entropy_pool ids;
	struct kafka_producer *producer;
	struct event_packer *packer;
	/* Of the events of each shard. */
	uint64_t sequences[SHARDS];
	bool has_failed;
};

/* The version goes between the two. */
static const struct {
	const char *before;
	const char *after;
} browsers[] = {
	{ "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/",
	  ".0.0.0 Safari/537.36" },
	{ "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/",
	  ".0.0.0 Mobile Safari/537.36" },
	{ "Mozilla/5.0 (iPhone; CPU iPhone OS 17_",
	  " like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1" },
	{ "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/",
	  ".0.0.0 Safari/537.36 Edg/126.0.0.0" },
	{ "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/",
	  ".0.0.0 Safari/537.36" },
	{ "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.",
	  " Safari/605.1.15" },
	{ "Mozilla/5.0 (X11; Linux x86_64; rv:", ".0) Gecko/20100101 Firefox/127.0" },
	{ "Mozilla/5.0 (Linux; Android 13; SAMSUNG SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/23.0 Chrome/",
	  ".0.0.0 Mobile Safari/537.36" },
};

static const char *const programs[] = {
	"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
	"curl/7.88.1",
	"facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
	"python-requests/2.31.0",
	"Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
	"Slackbot-LinkExpanding 1.0",
};

static const char *const sites[] = { "www.google.com",   "www.facebook.com", "t.co",
	                             "www.linkedin.com", "www.reddit.com",   "news.example.com",
	                             "mail.live.com",    "duckduckgo.com" };

static const char *const languages[] = { "en-US,en;q=0.9", "de-DE,de;q=0.9,en;q=0.8",
	                                 "fr-FR,fr;q=0.9", "es-ES,es;q=0.9",
	                                 "pt-BR,pt;q=0.9", "ja,en;q=0.8",
	                                 "zh-CN,zh;q=0.9", "" };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* splitmix64 */
static uint64_t scramble(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static uint64_t draw(struct flood *f)
{
	f->random += UINT64_C(0x9e3779b97f4a7c15);
	return scramble(f->random);
}

static void zipf_init(struct zipf *z, size_t count)
{
	z->count = count;
	z->cumulative = mem_array(count, sizeof(*z->cumulative));
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		z->cumulative[i] = sum += 1.0 / (double)(i + 1);
	for (size_t i = 0; i < count; i++)
		z->cumulative[i] /= sum;
}

static size_t zipf_rank(const struct zipf *z, uint64_t random)
{
	double at = (double)(random >> 11) / 9007199254740992.0;
	size_t low = 0;
	size_t high = z->count - 1;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (z->cumulative[middle] > at)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Derives the fixed properties of a visitor from its number. */
static void fill_visitor(const struct flood *f, uint64_t visitor, struct redirect_event *click)
{
	uint64_t traits = scramble(visitor);
	uint32_t network = f->networks[traits % NETWORKS];
	snprintf(click->client_network, sizeof(click->client_network), "%u.%u.%u.0/24",
	         network >> 16 & 255, network >> 8 & 255, network & 255);
	click->has_visitor_hash = true;
	for (size_t i = 0; i < sizeof(click->visitor_hash); i += sizeof(traits)) {
		uint64_t part = scramble(traits + i);
		memcpy(click->visitor_hash + i, &part, sizeof(part));
	}
	traits = scramble(traits);
	const char *language = languages[(traits & 7) * (traits >> 3 & 7) / 7 % COUNT(languages)];
	snprintf(click->accept_language, sizeof(click->accept_language), "%s", language);
	size_t kind = traits >> 16;
	size_t browser = kind / 12 % COUNT(browsers);
	int version = (int)(90 + (traits >> 8 & 31));
	if (kind % 12 == 0)
		snprintf(click->user_agent, sizeof(click->user_agent), "%s",
		         programs[kind / 12 % COUNT(programs)]);
	else
		snprintf(click->user_agent, sizeof(click->user_agent), "%s%d%s",
		         browsers[browser].before, version, browsers[browser].after);
}

static void fill_source(struct flood *f, size_t link, struct redirect_event *click)
{
	if (draw(f) % 2 == 0) {
		size_t rank = zipf_rank(&f->referrers, draw(f));
		if (rank < COUNT(sites))
			snprintf(click->referrer, sizeof(click->referrer), "https://%s/",
			         sites[rank]);
		else
			snprintf(click->referrer, sizeof(click->referrer),
			         "https://blog-%zu.example.org/posts/%zu", rank, link % 97);
	}
	if (draw(f) % 6 == 0)
		snprintf(click->query, sizeof(click->query),
		         "utm_source=%s&utm_medium=email&utm_campaign=campaign-%zu",
		         draw(f) % 2 ? "letter" : "partner", link);
}

static void fill_random_values(struct flood *f, struct redirect_event *click)
{
	unsigned long long one = draw(f);
	unsigned long long two = draw(f);
	snprintf(click->referrer, sizeof(click->referrer), "https://%llx.example.org/", one);
	snprintf(click->accept_language, sizeof(click->accept_language), "%c%c-%c%c",
	         (int)('a' + one % 26), (int)('a' + one / 26 % 26), (int)('A' + two % 26),
	         (int)('A' + two / 26 % 26));
	snprintf(click->query, sizeof(click->query),
	         "utm_source=%llx&utm_medium=%llx&utm_campaign=%llx", one, two, one ^ two);
}

static void fill_click(struct flood *f, int64_t at_us, struct redirect_event *click)
{
	size_t link = zipf_rank(&f->links, draw(f));
	*click = (struct redirect_event){ .occurred_at_us = at_us,
		                          .link_id = (int64_t)link + 1,
		                          .link_version = 1,
		                          .status = 302,
		                          .latency_us = 40 + (uint32_t)(draw(f) % 200),
		                          .method = REDIRECT_METHOD_GET };
	entropy_pool_uuid7(&f->ids, at_us, click->event_id);
	snprintf(click->slug, sizeof(click->slug), "b%06zx", link);
	snprintf(click->host, sizeof(click->host), "go.example.com");
	uint64_t visitor = draw(f) % VISITORS;
	if (draw(f) % 4 == 0)
		visitor = VISITORS + link * REGULARS + visitor % REGULARS;
	fill_visitor(f, visitor, click);
	if (f->has_random_values)
		fill_random_values(f, click);
	else
		fill_source(f, link, click);
}

static void send(void *ctx, struct event_batch *batch)
{
	struct flood *f = ctx;
	struct cloud_event event;
	struct kafka_record record = { .topic = REDIRECT_BATCH_TOPIC,
		                       .has_partition = true,
		                       .partition = batch->partition,
		                       .value = batch->value,
		                       .value_len = batch->len };
	cloud_event_headers(&event, batch->id, clock_now_us(clock_system()), REDIRECT_BATCH_TYPE,
	                    REDIRECT_BATCH_SCHEMA, "/waymark/redirector", NULL, &record);
	const struct timespec pause = { .tv_nsec = QUEUE_FULL_PAUSE_US * 1000 };
	enum err err = kafka_producer_send(f->producer, &record);
	for (; err == ERR_LIMIT; err = kafka_producer_send(f->producer, &record))
		nanosleep(&pause, NULL);
	f->has_failed = f->has_failed || err != OK;
	event_packer_free_batch(batch);
}

/* As the redirector's shipper does. */
static void pack(struct flood *f, const struct redirect_event *click, int64_t now_us)
{
	static const uint8_t instances[SHARDS][ENTROPY_UUID_SIZE] = { { 1 }, { 2 }, { 3 }, { 4 } };
	uint8_t bytes[REDIRECT_EVENT_BYTES_MAX];
	uint64_t slug_hash = XXH3_64bits(click->slug, strlen(click->slug));
	size_t shard = slug_hash % SHARDS;
	const struct journal_shard_record record = { .instance = instances[shard],
		                                     .sequence = ++f->sequences[shard],
		                                     .slug_hash = slug_hash,
		                                     .bytes = bytes,
		                                     .len = redirect_event_encode(click, bytes) };
	event_packer_add(f->packer, shard, &record, now_us);
	event_packer_send_due(f->packer, now_us, false);
}

/* The topic may have been made a moment ago. */
static bool make_packer(struct flood *f)
{
	const struct timespec pause = { .tv_nsec = PARTITIONS_PAUSE_US * 1000 };
	int32_t partitions = 0;
	for (int i = 0; i < PARTITIONS_TRIES && partitions == 0; i++) {
		nanosleep(&pause, NULL);
		partitions = kafka_producer_partitions(f->producer);
	}
	if (partitions == 0)
		return false;
	f->packer = event_packer_new(SHARDS, send, f);
	event_packer_set_partitions(f->packer, partitions);
	return true;
}

static bool run(struct flood *f, int64_t count, int64_t rate)
{
	int64_t end_us = clock_now_us(clock_system());
	struct redirect_event click;
	if (!make_packer(f))
		return false;
	for (int64_t i = 0; i < count && !f->has_failed; i++) {
		int64_t at_us =
			end_us - SPAN_US + (int64_t)((double)SPAN_US * (double)i / (double)count);
		fill_click(f, at_us, &click);
		pack(f, &click, i * CLOCK_US_PER_S / rate);
	}
	event_packer_send_due(f->packer, 0, true);
	while (kafka_producer_queued(f->producer) > 0) {
		if (kafka_producer_flush(f->producer, FLUSH_MS) != OK)
			return false;
	}
	return !f->has_failed;
}

static void make_networks(struct flood *f)
{
	f->networks = mem_array(NETWORKS, sizeof(*f->networks));
	for (size_t i = 0; i < NETWORKS; i++) {
		uint64_t random = draw(f);
		/* Between 1.0.0.0 and 222.255.255.0; more visitors come from some. */
		f->networks[i] = i % 4 == 3 ? f->networks[draw(f) % i]
		                            : (uint32_t)(65536 + random % (UINT64_C(222) * 65536));
	}
}

int main(int argc, char **argv)
{
	struct flood f = { 0 };
	struct kafka_config kafka = { 0 };
	int64_t count = 0;
	int64_t links = 0;
	int64_t seed = 0;
	int64_t rate = RATE;
	if (argc < 5 || argc > 7 || (argc == 7 && strcmp(argv[6], "random") != 0) ||
	    (argc > 5 && number_parse(argv[5], 1, RATE_MAX, &rate) != OK) ||
	    number_parse(argv[2], 1, INT64_MAX, &count) != OK ||
	    number_parse(argv[3], 1, LINKS_MAX, &links) != OK ||
	    number_parse(argv[4], 0, INT64_MAX, &seed) != OK) {
		fprintf(stderr, "usage: bench_flood BROKERS COUNT LINKS SEED [RATE [random]]\n");
		return 64;
	}
	snprintf(kafka.brokers, sizeof(kafka.brokers), "%s", argv[1]);
	struct log *log = log_new("flood", LOG_WARNING, 2);
	const struct kafka_producer_config config = { .kafka = &kafka,
		                                      .topics = { REDIRECT_BATCH_TOPIC },
		                                      .counts_partitions = true,
		                                      .queue_max = 100000,
		                                      .queue_bytes_max = (size_t)128 << 20,
		                                      .linger_ms = 20,
		                                      .log = log };
	f.random = (uint64_t)seed;
	f.has_random_values = argc == 7;
	zipf_init(&f.links, (size_t)links);
	zipf_init(&f.referrers, REFERRERS);
	make_networks(&f);
	bool done = kafka_producer_new(&config, &f.producer) == OK && run(&f, count, rate);
	event_packer_free(f.packer);
	kafka_producer_free(f.producer);
	log_free(log);
	free(f.links.cumulative);
	free(f.referrers.cumulative);
	free(f.networks);
	return done ? 0 : 1;
}
