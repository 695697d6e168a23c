#include "services/analytics-consumer/enrich.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "services/analytics-consumer/bot.h"
#include "services/analytics-consumer/language.h"
#include "services/analytics-consumer/referrer.h"
#include "services/analytics-consumer/utm.h"

static void copy_click(const struct redirect_event *click, struct visit *out)
{
	memcpy(out->event.event_id, click->event_id, sizeof(out->event.event_id));
	out->event.occurred_at_us = click->occurred_at_us;
	out->event.link_id = click->link_id;
	snprintf(out->event.slug, sizeof(out->event.slug), "%s", click->slug);
	out->day = clock_utc_day(click->occurred_at_us);
	out->latency_us = (int32_t)click->latency_us;
	out->status = (int16_t)click->status;
	out->has_visitor_hash = click->has_visitor_hash;
	memcpy(out->visitor_hash, click->visitor_hash, sizeof(out->visitor_hash));
	snprintf(out->client_network, sizeof(out->client_network), "%s", click->client_network);
	snprintf(out->region, sizeof(out->region), "%s", click->region);
}

static void add_place(const struct geoip *geoip, const struct redirect_event *click, struct visit_event *out)
{
	struct geoip_place place;
	geoip_find(geoip, click->client_network, &place);
	snprintf(out->country, sizeof(out->country), "%s", place.country);
	snprintf(out->city, sizeof(out->city), "%s", place.city);
}

static void add_agent(struct user_agent_parser *parser, const struct redirect_event *click, struct visit_event *out)
{
	struct user_agent agent;
	user_agent_parse(parser, click->user_agent, &agent);
	snprintf(out->browser, sizeof(out->browser), "%s", agent.browser);
	snprintf(out->os, sizeof(out->os), "%s", agent.os);
	snprintf(out->device, sizeof(out->device), "%s", device_class_name(agent.device));
	snprintf(out->bot_reason, sizeof(out->bot_reason), "%s", bot_reason(click, &agent));
	out->is_bot = out->bot_reason[0] != '\0';
}

void enrich_click(const struct enrich_sources *sources, const struct redirect_event *click, struct visit *out)
{
	*out = (struct visit){ .fate = VISIT_NEW };
	copy_click(click, out);
	add_place(sources->geoip, click, &out->event);
	add_agent(sources->user_agents, click, &out->event);
	referrer_host(click->referrer, out->event.referrer_host, sizeof(out->event.referrer_host));
	language_of(click->accept_language, out->event.language, sizeof(out->event.language));
	utm_value(click->query, "utm_source", out->event.utm_source, sizeof(out->event.utm_source));
	utm_value(click->query, "utm_medium", out->event.utm_medium, sizeof(out->event.utm_medium));
	utm_value(click->query, "utm_campaign", out->event.utm_campaign, sizeof(out->event.utm_campaign));
}
