#include "tests/chaos/click_source.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/clicks/redirect_batch.h"
#include "lib/kafka/cloud_event.h"
#include "tests/support/click_batch.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
	const char *text;
	bool is_bot;
} agents[] = {
	{ "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
	  false },
	{ "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0", false },
	{ "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 "
	  "Mobile/15E148 Safari/604.1",
	  false },
	{ "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36",
	  false },
	{ "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", true },
};
static const char *const referrers[] = { "", "https://www.google.com/",
	                                 "https://news.example.com/item?id=1" };
static const char *const languages[] = { "de-DE,de;q=0.9", "en", "fr-FR", "" };
static const char *const queries[] = { "", "utm_source=letter&utm_medium=email&utm_campaign=spring",
	                               "utm_source=poster" };

/* The names of a third of the links each: of rules, and of the variants of a split. */
static const char *const rules[] = { "", "Germans", "phones \xe2\x86\x92 app", "evening" };
static const char *const variants[] = { "A", "B", "C" };

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static uint64_t next_random(struct click_source *source, uint64_t below)
{
	source->random += UINT64_C(0x9e3779b97f4a7c15);
	return mix(source->random) % below;
}

/* Of fifty links, the first gets a quarter of the clicks and the last hardly any. */
static int64_t choose_link(struct click_source *source)
{
	double x = (double)next_random(source, 1 << 20) / (1 << 20);
	return source->first_link + (int64_t)((double)source->links * x * x * x);
}

static void hash_visitor(uint64_t visitor, uint8_t out[static DIGEST_SIZE])
{
	for (size_t i = 0; i < DIGEST_SIZE / sizeof(uint64_t); i++) {
		uint64_t part = mix(visitor * 4 + i + 1);
		memcpy(out + i * sizeof(part), &part, sizeof(part));
	}
}

/* What a link with a rule, a split or an earlier slug says. */
static void decide(struct click_source *source, uint64_t visitor, struct redirect_event *out)
{
	uint64_t link = (uint64_t)(out->link_id - source->first_link);
	if (link % 3 == 1)
		snprintf(out->rule, sizeof(out->rule), "%s", rules[visitor % COUNT(rules)]);
	else if (link % 3 == 2)
		snprintf(out->variant, sizeof(out->variant), "%s",
		         variants[visitor % COUNT(variants)]);
	if (link % 5 == 4 && next_random(source, 2) == 0)
		snprintf(out->alias, sizeof(out->alias), "old-%llu", (unsigned long long)link);
	out->is_scan = next_random(source, 8) == 0;
}

void click_source_next(struct click_source *source, struct redirect_event *out, uint64_t *visitor,
                       bool *is_bot)
{
	*visitor = next_random(source, source->visitors);
	size_t agent = *visitor % COUNT(agents);
	*is_bot = agents[agent].is_bot;
	*out = (struct redirect_event){ .occurred_at_us = clock_now_us(clock_system()),
		                        .link_id = choose_link(source),
		                        .link_version = 1,
		                        .status = 302,
		                        .latency_us = (uint32_t)(200 + next_random(source, 5000)),
		                        .method = REDIRECT_METHOD_GET,
		                        .has_visitor_hash = true,
		                        .host = "go.example.com",
		                        .region = "local" };
	entropy_uuid7(out->occurred_at_us, out->event_id);
	hash_visitor(*visitor, out->visitor_hash);
	snprintf(out->slug, sizeof(out->slug), "chaos-%lld",
	         (long long)(out->link_id - source->first_link));
	snprintf(out->client_network, sizeof(out->client_network), "%u.%u.113.0/24",
	         2 + (unsigned)(*visitor % 90), (unsigned)(*visitor % 250));
	snprintf(out->user_agent, sizeof(out->user_agent), "%s", agents[agent].text);
	snprintf(out->referrer, sizeof(out->referrer), "%s",
	         referrers[next_random(source, COUNT(referrers))]);
	snprintf(out->accept_language, sizeof(out->accept_language), "%s",
	         languages[*visitor % COUNT(languages)]);
	snprintf(out->query, sizeof(out->query), "%s",
	         queries[next_random(source, COUNT(queries))]);
	decide(source, *visitor, out);
}

const char *click_source_poison_name(enum poison kind)
{
	static const char *const names[POISON_KINDS] = {
		[POISON_NUL] = "nul",         [POISON_UTF8] = "utf8",
		[POISON_EMPTY] = "empty",     [POISON_TRUNCATED] = "short",
		[POISON_LARGE] = "large",     [POISON_TYPE] = "type",
		[POISON_VERSION] = "version", [POISON_CONTENT] = "content",
	};
	return names[kind];
}

/* Puts other bytes into the user agent. Neither protobuf nor the journal refuses them. */
static void damage(struct strbuf *value, const char *bytes, size_t len)
{
	char *at = memmem(value->data, value->len, "Mozilla", strlen("Mozilla"));
	if (at)
		memcpy(at, bytes, len);
}

void click_source_poison(struct click_source *source, enum poison kind, struct strbuf *value,
                         const char **type, const char **content)
{
	struct redirect_event click;
	static const char filling[] = "far too much of the same ";
	uint8_t event[REDIRECT_EVENT_BYTES_MAX];
	uint64_t visitor;
	bool is_bot;
	click_source_next(source, &click, &visitor, &is_bot);
	strbuf_reset(value);
	if (kind < POISON_EVENTS)
		strbuf_add(value, event, redirect_event_encode(&click, event));
	else if (kind != POISON_EMPTY && kind != POISON_LARGE)
		click_batch_encode(&click, 1, value);
	*type = kind == POISON_TYPE      ? "waymark.link.v1"
	        : kind == POISON_VERSION ? "waymark.redirect-batch.v2"
	                                 : REDIRECT_BATCH_TYPE;
	*content = kind == POISON_CONTENT ? "application/json" : CLOUD_EVENT_PROTOBUF;
	if (kind == POISON_NUL)
		damage(value, "a\0b", 3);
	else if (kind == POISON_UTF8)
		damage(value, "\xed\xa0\x80", 3);
	else if (kind == POISON_TRUNCATED)
		value->len -= 7;
	while (kind == POISON_LARGE && value->len < CLICK_SOURCE_LARGE)
		strbuf_add(value, filling,
		           sizeof(filling) - 1); /* CLICK_SOURCE_LARGE is a multiple of it */
}
