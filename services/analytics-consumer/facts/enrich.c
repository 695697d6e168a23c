#include "services/analytics-consumer/facts/enrich.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/file_watch.h"
#include "lib/base/mem.h"
#include "lib/base/utf8.h"
#include "lib/clicks/referrer.h"
#include "lib/http/http_accept.h"
#include "lib/http/http_query.h"
#include "services/analytics-consumer/facts/bot.h"
#include "services/analytics-consumer/facts/geoip.h"
#include "services/analytics-consumer/facts/text_cache.h"
#include "services/analytics-consumer/facts/user_agent.h"

#define PLACES_CACHED 20000
#define SOURCES_CACHED 5000
#define LANGUAGES_CACHED 1000
#define LANGUAGE_LENGTH_MIN 2
#define LANGUAGE_LENGTH_MAX 8
#define BRAND_SIZE 32

/* Where a visitor came from. */
struct source {
	/* A literal. */
	const char *name;
	char host[sizeof(((struct visit_event *)NULL)->referrer_host)];
};

struct enrich {
	struct geoip *geoip;
	bool owns_geoip;
	struct user_agent_parser *user_agents;
	struct file_watch *watch;
	/* Of struct geoip_place, by network. */
	struct text_cache *places;
	unsigned places_generation;
	/* Of struct source, by referrer. */
	struct text_cache *sources;
	/* Of visit_event.language, by Accept-Language. */
	struct text_cache *languages;
	/* The last ones that were not cached. */
	struct geoip_place place;
	struct source source;
};

/* --- the files --- */

static enum err reload_geoip(void *ctx)
{
	const struct enrich *enrich = ctx;
	return geoip_reload(enrich->geoip);
}

static enum err reload_user_agents(void *ctx)
{
	const struct enrich *enrich = ctx;
	return user_agent_parser_reload(enrich->user_agents);
}

static struct file_watch *watch_files(struct enrich *enrich, const struct enrich_config *config)
{
	/* Only the owner of the GeoIP database reloads it. */
	const struct file_watch_file files[] = { { config->ua_regexes, reload_user_agents, enrich },
		                                 { config->geoip_db, reload_geoip, enrich } };
	struct file_watch_config watch = { .files = files,
		                           .count = enrich->owns_geoip ? 2 : 1,
		                           .interval_ms = config->check_ms };
	if (config->metrics)
		watch.broken = metrics_gauge(
			config->metrics, "waymark_fact_files_broken",
			"Files among GEOIP_DB and UA_REGEXES whose current content cannot be used",
			NULL);
	return file_watch_new(&watch);
}

enum err enrich_open(const struct enrich_config *config, struct enrich **out)
{
	struct enrich *enrich = mem_zero(sizeof(*enrich));
	enrich->owns_geoip = !config->share_geoip_with;
	enrich->watch = watch_files(enrich, config);
	enrich->places = text_cache_new(PLACES_CACHED, CLIENT_IP_NETWORK_SIZE - 1,
	                                sizeof(struct geoip_place));
	enrich->sources =
		text_cache_new(SOURCES_CACHED, REDIRECT_EVENT_REFERRER_MAX, sizeof(struct source));
	enrich->languages = text_cache_new(LANGUAGES_CACHED, REDIRECT_EVENT_LANGUAGE_MAX,
	                                   sizeof(((struct visit_event *)NULL)->language));
	enum err err = OK;
	if (config->share_geoip_with)
		enrich->geoip = config->share_geoip_with->geoip;
	else
		err = geoip_open(config->geoip_db, config->log, &enrich->geoip);
	if (err == OK)
		err = user_agent_parser_new(config->ua_regexes, config->user_agent_cache,
		                            config->log, &enrich->user_agents);
	if (err != OK) {
		enrich_close(enrich);
		return err;
	}
	file_watch_start(enrich->watch);
	*out = enrich;
	return OK;
}

void enrich_close(struct enrich *enrich)
{
	if (!enrich)
		return;
	file_watch_free(enrich->watch);
	user_agent_parser_free(enrich->user_agents);
	text_cache_free(enrich->places);
	text_cache_free(enrich->sources);
	text_cache_free(enrich->languages);
	if (enrich->owns_geoip)
		geoip_close(enrich->geoip);
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

static const struct geoip_place *find_place(struct enrich *enrich, const char *network)
{
	unsigned generation = geoip_generation(enrich->geoip);
	if (generation != enrich->places_generation) {
		text_cache_clear(enrich->places);
		enrich->places_generation = generation;
	}
	const struct geoip_place *known = text_cache_get(enrich->places, network);
	if (known)
		return known;
	geoip_lookup(enrich->geoip, network, &enrich->place);
	text_cache_put(enrich->places, network, &enrich->place);
	return &enrich->place;
}

static void add_place(struct enrich *enrich, const struct redirect_event *click,
                      struct visit_event *out)
{
	const struct geoip_place *place = find_place(enrich, click->client_network);
	copy_text(out->country, sizeof(out->country), place->country);
	copy_text(out->region, sizeof(out->region), place->region);
	copy_text(out->city, sizeof(out->city), place->city);
}

static void add_agent(struct user_agent_parser *parser, const struct redirect_event *click,
                      struct visit_event *out)
{
	struct user_agent agent;
	user_agent_parse(parser, click->user_agent, &agent);
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
	source->name = enrich_referrer_source(source->host);
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

/* The length of the primary subtag, or 0 when there is none. */
static size_t primary_length(const char *range, size_t len)
{
	size_t n = 0;
	while (n < len && isalpha((unsigned char)range[n]))
		n++;
	bool ends = n == len || range[n] == '-';
	return ends && n >= LANGUAGE_LENGTH_MIN && n <= LANGUAGE_LENGTH_MAX ? n : 0;
}

void enrich_language(const char *accept_language, char *out, size_t size)
{
	int best = 0;
	struct http_accept_item item;
	out[0] = '\0';
	while (http_accept_next(&accept_language, &item)) {
		size_t primary = primary_length(item.name, item.len);
		if (item.weight <= best || primary == 0 || primary >= size)
			continue;
		best = item.weight;
		for (size_t i = 0; i < primary; i++)
			out[i] = (char)tolower((unsigned char)item.name[i]);
		out[primary] = '\0';
	}
}

static void add_language(struct enrich *enrich, const struct redirect_event *click,
                         struct visit_event *out)
{
	const char *known = text_cache_get(enrich->languages, click->accept_language);
	if (known) {
		copy_text(out->language, sizeof(out->language), known);
		return;
	}
	enrich_language(click->accept_language, out->language, sizeof(out->language));
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

void enrich_click(struct enrich *enrich, const struct redirect_event *click, struct visit *out)
{
	out->disposition = VISIT_NEW;
	copy_click(click, out);
	add_place(enrich, click, &out->event);
	add_agent(enrich->user_agents, click, &out->event);
	add_referrer(enrich, click, &out->event);
	add_language(enrich, click, &out->event);
	add_campaign(click, &out->event);
}

/* --- the source of a referrer --- */

static int compare(const void *host, const void *element)
{
	const struct referrer_source_pair *pair = element;
	return strcmp(host, pair->host);
}

static const char *find(const char *host)
{
	const struct referrer_source_pair *found =
		bsearch(host, referrer_source_table, referrer_source_table_size,
	                sizeof(*referrer_source_table), compare);
	return found ? found->name : NULL;
}

static bool is_country_label(const char *text)
{
	return islower((unsigned char)text[0]) && islower((unsigned char)text[1]) &&
	       text[2] == '\0';
}

/* "com", "de", "co.uk", "com.br" */
static bool is_country_suffix(const char *text)
{
	if (strcmp(text, "com") == 0 || is_country_label(text))
		return true;
	return (strncmp(text, "co.", 3) == 0 && is_country_label(text + 3)) ||
	       (strncmp(text, "com.", 4) == 0 && is_country_label(text + 4));
}

/* "google.*" for "google.co.uk" */
static const char *find_brand(const char *host)
{
	char brand[BRAND_SIZE];
	const char *dot = strchr(host, '.');
	if (!dot || !is_country_suffix(dot + 1) || dot - host + 3 > BRAND_SIZE)
		return NULL;
	snprintf(brand, sizeof(brand), "%.*s.*", (int)(dot - host), host);
	return find(brand);
}

const char *enrich_referrer_source(const char *host)
{
	while (*host) {
		const char *name = find(host);
		if (!name)
			name = find_brand(host);
		if (name)
			return name;
		host += strcspn(host, ".");
		host += *host == '.';
	}
	return "";
}
