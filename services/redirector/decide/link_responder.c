#include "services/redirector/decide/link_responder.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"
#include "lib/base/strbuf.h"
#include "lib/clicks/referrer.h"
#include "lib/links/link_decision.h"
#include "lib/links/link_extras.h"
#include "lib/links/link_forward.h"
#include "lib/visitors/accept_language.h"
#include "lib/visitors/bot.h"
#include "services/redirector/decide/app_link.h"
#include "services/redirector/decide/link_pages.h"

#define NOT_CACHED "private, no-store"
/* What fits into the headers of an answer. */
#define LOCATION_BYTES_MAX ((size_t)12 * 1024)

/* Of one exchange, from the call to the answer. */
struct response {
	const struct link_responder *responder;
	struct http_exchange *x;
	/* Borrowed from the caller, or own_entry. */
	const struct link_entry *entry;
	struct link_entry *own_entry;
	struct Waymark__V1__LinkExtras *extras;
	unsigned features;
	/* Raw; borrowed from x. */
	const char *rest;
	const char *query;
	int64_t now_us;
	struct redirect_event event;
	bool has_agent;
	struct user_agent agent;
	/* With an agent: see bot.h. */
	const char *bot_reason;
	/* Where the visitor goes. */
	struct strbuf url;
	struct strbuf fallback_url;
};

static void release(struct response *r)
{
	strbuf_clear(&r->url);
	strbuf_clear(&r->fallback_url);
	link_extras_free(r->extras);
	free(r->own_entry);
	free(r);
}

/* Makes r independent of its caller, before another thread may continue it. */
static void keep(struct response *r)
{
	if (r->own_entry)
		return;
	r->own_entry = mem_copy(r->entry, link_entry_size(r->entry));
	r->entry = r->own_entry;
}

/* --- facts --- */

static void know_agent(struct response *r)
{
	if (r->has_agent)
		return;
	visitor_facts_agent(r->responder->facts, r->event.user_agent, &r->agent);
	r->bot_reason = bot_reason(&r->event, &r->agent);
	r->has_agent = true;
}

static unsigned status_of(const struct response *r)
{
	unsigned status = r->entry->redirect_status;
	if (!(r->features & LINK_FEATURES_NOT_CACHED))
		return status;
	return status == 301 ? 302 : status == 308 ? 307 : status;
}

static void decide(struct response *r, struct link_decision *out)
{
	struct geoip_place place = { 0 };
	char language[ACCEPT_LANGUAGE_RANGE_SIZE] = "";
	char referrer[REDIRECT_EVENT_REFERRER_MAX + 1] = "";
	unsigned facts = link_decision_facts(r->extras);
	struct link_visitor visitor = { .now_us = r->now_us, .query = r->query };
	if (facts & LINK_FACT_PLACE)
		visitor_facts_place(r->responder->facts, r->event.client_network, &place);
	if (facts & LINK_FACT_AGENT) {
		know_agent(r);
		visitor.device = user_agent_device_name(r->agent.device);
		visitor.os = r->agent.os;
		visitor.browser = r->agent.browser;
		visitor.is_bot = r->bot_reason[0] != '\0';
	}
	if (facts & LINK_FACT_VISITOR && r->event.has_visitor_hash)
		visitor.visitor_hash = r->event.visitor_hash;
	else if (facts & LINK_FACT_VISITOR)
		entropy_fill(&visitor.random, sizeof(visitor.random));
	if (r->features & LINK_FEATURE_RULES) {
		accept_language_preferred(r->event.accept_language, language);
		referrer_host(r->event.referrer, referrer, sizeof(referrer));
	}
	visitor.country = place.country;
	visitor.region = place.region;
	visitor.city = place.city;
	visitor.language = language;
	visitor.referrer_host = referrer;
	link_decision_take(r->extras, r->entry->id, r->entry->original_url, &visitor, out);
}

/* --- answers --- */

bool link_responder_accepts(const struct http_exchange *x, unsigned status)
{
	enum http_method method = http_exchange_method(x);
	return method == HTTP_GET || method == HTTP_HEAD || status == 307 || status == 308;
}

enum http_progress link_responder_respond_method(const struct pages *pages, struct http_exchange *x)
{
	http_exchange_add_fixed_header(x, "Allow", "GET, HEAD");
	return pages_respond_error(pages, x, 405, "This address supports GET and HEAD only.");
}

enum http_progress link_responder_respond_host(const struct pages *pages, struct http_exchange *x)
{
	return pages_respond_error(
		pages, x, 451,
		"The operator of this service has blocked the destination host of this link.");
}

enum http_progress link_responder_respond_unavailable(const struct pages *pages,
                                                      struct http_exchange *x)
{
	http_exchange_add_fixed_header(x, "Retry-After", "2");
	return pages_respond_error(
		pages, x, 503,
		"The link cannot be checked at the moment. Retry after the time in Retry-After.");
}

enum http_progress link_responder_redirect(const struct link_responder *responder,
                                           struct http_exchange *x, const struct link_entry *entry,
                                           const struct link_responder_target *target,
                                           struct redirect_event *event)
{
	const char *location = target->location ? target->location : target->url;
	http_exchange_set_status(x, target->status);
	/* A normalised URL has no control bytes. One that has them must not be sent truncated. */
	if (http_exchange_add_header(x, "Location", location) != OK) {
		log_error(responder->log, "destination_rejected", LOG_INT("link_id", entry->id));
		return pages_respond_error(responder->pages, x, 500,
		                           "The link's destination is not a valid header value.");
	}
	http_exchange_add_fixed_header(x, "Cache-Control", target->cache_control);
	http_exchange_add_fixed_header(x, "X-Robots-Tag", "noindex, nofollow");
	visit_recorder_append(responder->recorder, x, entry, target->status, target->url, event);
	return HTTP_COMPLETE;
}

static bool is_allowed(const struct response *r, const char *url)
{
	return host_guard_check(r->responder->hosts, url) == HOST_POLICY_ALLOWED;
}

static enum http_progress redirect_to(struct response *r, unsigned status, const char *url,
                                      const char *location)
{
	bool differs = r->features & LINK_FEATURES_NOT_CACHED;
	struct link_responder_target target = { status, url, location,
		                                differs ? NOT_CACHED
		                                        : r->responder->cache_control };
	return link_responder_redirect(r->responder, r->x, r->entry, &target, &r->event);
}

static enum http_progress count_page(struct response *r, enum http_progress progress)
{
	visit_recorder_append(r->responder->recorder, r->x, r->entry, 200, r->url.data, &r->event);
	return progress;
}

/* Android's browsers open the app, or the fallback, without a page. */
static enum http_progress open_app(struct response *r)
{
	struct strbuf intent;
	enum http_progress progress = HTTP_COMPLETE;
	strbuf_init(&intent, LOCATION_BYTES_MAX);
	know_agent(r);
	if (strcmp(r->agent.os, "Android") == 0)
		app_link_add_intent(r->url.data, r->fallback_url.data, &intent);
	if (intent.len > 0 && strbuf_status(&intent) == OK)
		progress = redirect_to(r, status_of(r), r->url.data, intent.data);
	else
		progress =
			count_page(r, link_pages_respond_app(pages_site(r->responder->pages), r->x,
		                                             r->url.data, r->fallback_url.data));
	strbuf_clear(&intent);
	return progress;
}

static bool wants_card(struct response *r)
{
	if (!(r->features & LINK_FEATURE_PREVIEW))
		return false;
	know_agent(r);
	return strcmp(r->bot_reason, "link_preview") == 0;
}

static enum http_progress lead_on(struct response *r)
{
	const struct link_pages_card card = { r->extras->preview_title,
		                              r->extras->preview_description,
		                              r->extras->preview_image_url, r->url.data };
	if (wants_card(r))
		return count_page(
			r, link_pages_respond_card(pages_site(r->responder->pages), r->x, &card));
	if (r->fallback_url.len > 0 && app_link_is_app(r->url.data))
		return open_app(r);
	return redirect_to(r, status_of(r), r->url.data, NULL);
}

static enum http_progress respond_used_up(struct response *r)
{
	const char *url = r->entry->expired_url;
	r->event.rule[0] = r->event.variant[0] = '\0';
	if (url[0] == '\0')
		return pages_respond_reason(r->responder->pages, r->x, "used_up",
		                            "This link has reached its number of visits.");
	return is_allowed(r, url) ? redirect_to(r, 302, url, NULL)
	                          : link_responder_respond_host(r->responder->pages, r->x);
}

/* --- the way --- */

static void on_visit(void *ctx, struct http_exchange *x, enum link_gate_visit visit)
{
	struct response *r = ctx;
	if (visit == LINK_GATE_VISIT_TAKEN)
		lead_on(r);
	else if (visit == LINK_GATE_VISIT_USED_UP)
		respond_used_up(r);
	else
		link_responder_respond_unavailable(r->responder->pages, x);
	release(r);
	http_exchange_resume(x);
}

static void forward(const struct response *r, const char *url, struct strbuf *out)
{
	if (url[0] != '\0')
		link_forward_build(url, r->query, r->rest, r->extras->forward_query,
		                   r->extras->forward_path, out);
}

/* A name that its check has bounded. */
static void copy_name(const char *name, char *out, size_t size)
{
	size_t len = strnlen(name, size - 1);
	memcpy(out, name, len);
	out[len] = '\0';
}

/* After the password. HTTP_PENDING: another thread releases r. */
static enum http_progress go_on(struct response *r)
{
	const struct pages *pages = r->responder->pages;
	struct link_decision decision;
	visit_recorder_describe(r->responder->recorder, r->x, &r->event);
	decide(r, &decision);
	if (decision.kind == LINK_DECISION_GONE)
		return pages_respond_reason(pages, r->x, "ended", "This link has ended.");
	copy_name(decision.rule, r->event.rule, sizeof(r->event.rule));
	copy_name(decision.variant, r->event.variant, sizeof(r->event.variant));
	forward(r, decision.url, &r->url);
	forward(r, decision.fallback_url, &r->fallback_url);
	if (!is_allowed(r, r->url.data) ||
	    (r->fallback_url.len > 0 && !is_allowed(r, r->fallback_url.data)))
		return link_responder_respond_host(pages, r->x);
	if (!link_responder_accepts(r->x, status_of(r)))
		return link_responder_respond_method(pages, r->x);
	if (!(r->features & LINK_FEATURE_LIMIT))
		return lead_on(r);
	know_agent(r);
	keep(r);
	link_gate_take_visit(r->responder->gate, r->x, r->entry->id, r->bot_reason[0] == '\0',
	                     on_visit, r);
	return HTTP_PENDING;
}

/* The link may have ended meanwhile. */
static enum http_progress go_on_later(struct response *r)
{
	r->now_us = clock_now_us(r->responder->clock);
	if (link_state_at(r->entry, r->now_us) != LINK_STATE_ACTIVE)
		return pages_respond_error(r->responder->pages, r->x, 410,
		                           "This link has expired.");
	return go_on(r);
}

static void on_password(void *ctx, struct http_exchange *x, enum link_gate_result result)
{
	struct response *r = ctx;
	if (result == LINK_GATE_OPEN && go_on_later(r) == HTTP_PENDING)
		return;
	release(r);
	http_exchange_resume(x);
}

static enum http_progress pass_password(struct response *r)
{
	/* The gate may continue r before it returns. */
	keep(r);
	enum link_gate_result result = link_gate_check_password(
		r->responder->gate, r->x, r->entry->id, r->extras->password_hash, on_password, r);
	if (result == LINK_GATE_PENDING)
		return HTTP_PENDING;
	return result == LINK_GATE_OPEN ? go_on(r) : HTTP_COMPLETE;
}

static struct response *open_response(const struct link_responder *responder,
                                      struct http_exchange *x, const struct link_entry *entry,
                                      const struct slug_path *typed, int64_t now_us)
{
	struct Waymark__V1__LinkExtras *extras = link_extras_open(entry->extras, entry->extras_len);
	if (!extras)
		return NULL;
	struct response *r = mem_zero(sizeof(*r));
	r->responder = responder;
	r->x = x;
	r->entry = entry;
	r->extras = extras;
	r->features = link_extras_features(extras);
	r->rest = typed->rest;
	r->query = http_exchange_query(x);
	if (r->query[0] == '\0')
		r->query = typed->query;
	r->now_us = now_us;
	strbuf_init(&r->url, LINK_FORWARD_BYTES_MAX);
	strbuf_init(&r->fallback_url, LINK_FORWARD_BYTES_MAX);
	return r;
}

enum http_progress link_responder_respond(const struct link_responder *responder,
                                          struct http_exchange *x, const struct link_entry *entry,
                                          const struct slug_path *typed, int64_t now_us)
{
	struct response *r = open_response(responder, x, entry, typed, now_us);
	if (!r) {
		log_error(responder->log, "extras_rejected", LOG_INT("link_id", entry->id));
		return pages_respond_error(responder->pages, x, 500,
		                           "The link's rules could not be read.");
	}
	enum http_progress progress;
	if (r->rest[0] != '\0' && !r->extras->forward_path)
		progress =
			pages_respond_error(responder->pages, x, 404, "This link does not exist.");
	else if (r->features & LINK_FEATURE_PASSWORD)
		progress = pass_password(r);
	else
		progress = go_on(r);
	if (progress != HTTP_PENDING)
		release(r);
	return progress;
}
