#include "services/analytics-consumer/facts/enrich.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/base/utf8.h"
#include "lib/clicks/referrer.h"
#include "lib/http/http_query.h"
#include "lib/visitors/accept_language.h"
#include "lib/visitors/referrer_source.h"
#include "lib/visitors/text_cache.h"
#include "lib/visitors/visitor_facts.h"

#define SOURCES_CACHED 5000
#define LANGUAGES_CACHED 1000

/* Where a visitor came from. */
struct source {
	/* A literal. */
	const char *name;
	char host[sizeof(((struct visit_event *)NULL)->referrer_host)];
};

struct enrich {
	struct visitor_facts *visitor;
	/* Of struct source, by referrer. */
	struct text_cache *sources;
	/* Of visit_event.language, by Accept-Language. */
	struct text_cache *languages;
	/* The last one that was not cached. */
	struct source source;
};

struct enrich *enrich_new(struct visitor_facts *visitor)
{
	struct enrich *enrich = mem_zero(sizeof(*enrich));
	enrich->visitor = visitor;
	enrich->sources =
		text_cache_new(SOURCES_CACHED, REDIRECT_EVENT_REFERRER_MAX, sizeof(struct source));
	enrich->languages = text_cache_new(LANGUAGES_CACHED, REDIRECT_EVENT_LANGUAGE_MAX,
	                                   sizeof(((struct visit_event *)NULL)->language));
	return enrich;
}

void enrich_free(struct enrich *enrich)
{
	if (!enrich)
		return;
	text_cache_free(enrich->sources);
	text_cache_free(enrich->languages);
	free(enrich);
}

/* --- the facts --- */

/* Values always fit: their size was limited when they were read. snprintf costs too much here. */
static void copy_text(char *out, size_t size, const char *text)
{
	size_t len = strnlen(text, size - 1);
	memcpy(out, text, len);
	out[len] = '\0';
}

static void copy_click(const struct redirect_event *click, struct visit *out)
{
	memcpy(out->event.event_id, click->event_id, sizeof(out->event.event_id));
	out->event.occurred_at_us = click->occurred_at_us;
	out->event.link_id = click->link_id;
	copy_text(out->event.slug, sizeof(out->event.slug), click->slug);
	out->event.is_unique = false;
	out->event.status = click->status;
	out->event.latency_us = click->latency_us;
	copy_text(out->event.destination_host, sizeof(out->event.destination_host),
	          click->destination_host);
	out->event.workspace_id = 0;
	out->event.tags = NULL;
	out->day = clock_utc_day(click->occurred_at_us);
	out->has_visitor_hash = click->has_visitor_hash;
	memcpy(out->visitor_hash, click->visitor_hash, sizeof(out->visitor_hash));
	copy_text(out->client_network, sizeof(out->client_network), click->client_network);
	copy_text(out->served_from, sizeof(out->served_from), click->region);
}

static void add_place(struct visitor_facts *visitor, const struct redirect_event *click,
                      struct visit_event *out)
{
	struct geoip_place place;
	visitor_facts_place(visitor, click->client_network, &place);
	copy_text(out->country, sizeof(out->country), place.country);
	copy_text(out->region, sizeof(out->region), place.region);
	copy_text(out->city, sizeof(out->city), place.city);
}

static void add_agent(struct visitor_facts *visitor, const struct redirect_event *click,
                      struct visit_event *out)
{
	struct user_agent agent;
	visitor_facts_agent(visitor, click->user_agent, &agent);
	copy_text(out->browser, sizeof(out->browser), agent.browser);
	copy_text(out->browser_version, sizeof(out->browser_version), agent.browser_version);
	copy_text(out->os, sizeof(out->os), agent.os);
	copy_text(out->os_version, sizeof(out->os_version), agent.os_version);
	copy_text(out->device, sizeof(out->device), user_agent_device_name(agent.device));
	copy_text(out->bot_reason, sizeof(out->bot_reason), bot_reason(click, &agent));
	out->is_bot = out->bot_reason[0] != '\0';
}

static const struct source *find_source(struct enrich *enrich, const char *referrer)
{
	const struct source *known = text_cache_get(enrich->sources, referrer);
	if (known)
		return known;
	struct source *source = &enrich->source;
	referrer_host(referrer, source->host, sizeof(source->host));
	source->name = referrer_source_of(source->host);
	text_cache_put(enrich->sources, referrer, source);
	return source;
}

static void add_referrer(struct enrich *enrich, const struct redirect_event *click,
                         struct visit_event *out)
{
	out->referrer_host[0] = '\0';
	out->referrer_source[0] = '\0';
	if (click->referrer[0] == '\0')
		return;
	const struct source *source = find_source(enrich, click->referrer);
	copy_text(out->referrer_host, sizeof(out->referrer_host), source->host);
	copy_text(out->referrer_source, sizeof(out->referrer_source), source->name);
}

static void add_language(struct enrich *enrich, const struct redirect_event *click,
                         struct visit_event *out)
{
	const char *known = text_cache_get(enrich->languages, click->accept_language);
	if (known) {
		copy_text(out->language, sizeof(out->language), known);
		return;
	}
	char range[ACCEPT_LANGUAGE_RANGE_SIZE];
	range[accept_language_preferred(click->accept_language, range)] = '\0';
	copy_text(out->language, sizeof(out->language), range);
	text_cache_put(enrich->languages, click->accept_language, out->language);
}

/*
 * The decoded value of a parameter of the short link's query. A longer value is cut at a character
 * boundary, and control characters become "?". "" when the parameter is missing or malformed (a bad
 * escape, NUL, invalid UTF-8).
 */
static void copy_parameter(const char *query, const char *name, char *out, size_t size)
{
	/* A decoded value is never longer than the encoded one, so it always fits. */
	char value[REDIRECT_EVENT_QUERY_MAX + 1];
	out[0] = '\0';
	if (http_query_value(query, name, value, sizeof(value)) == OK)
		utf8_copy_clean(value, strlen(value), out, size);
}

static void add_campaign(const struct redirect_event *click, struct visit_event *out)
{
	out->utm_source[0] = out->utm_medium[0] = out->utm_campaign[0] = '\0';
	if (click->query[0] == '\0')
		return;
	copy_parameter(click->query, "utm_source", out->utm_source, sizeof(out->utm_source));
	copy_parameter(click->query, "utm_medium", out->utm_medium, sizeof(out->utm_medium));
	copy_parameter(click->query, "utm_campaign", out->utm_campaign, sizeof(out->utm_campaign));
}

/* A name has no control character, because one would separate entries of a roll-up. */
static void copy_name(const char *name, char *out, size_t size)
{
	out[0] = '\0';
	if (name[0] != '\0')
		utf8_copy_clean(name, strlen(name), out, size);
}

static void add_decision(const struct redirect_event *click, struct visit_event *out)
{
	copy_name(click->rule, out->rule, sizeof(out->rule));
	copy_name(click->variant, out->variant, sizeof(out->variant));
	copy_text(out->alias, sizeof(out->alias), click->alias);
	copy_text(out->scan, sizeof(out->scan), click->is_scan ? VISIT_EVENT_SCAN : "");
}

void enrich_click(struct enrich *enrich, const struct redirect_event *click, struct visit *out)
{
	out->disposition = VISIT_NEW;
	copy_click(click, out);
	add_place(enrich->visitor, click, &out->event);
	add_agent(enrich->visitor, click, &out->event);
	add_referrer(enrich, click, &out->event);
	add_language(enrich, click, &out->event);
	add_campaign(click, &out->event);
	add_decision(click, &out->event);
}
