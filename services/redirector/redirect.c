#include "services/redirector/redirect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/trace_context.h"
#include "lib/links/slug.h"
#include "services/redirector/events/click.h"
#include "services/redirector/pages/pages.h"

#define RETRY_AFTER_UNAVAILABLE "2"
#define ALLOW "GET, HEAD"

/* Crawlers are allowed: they must fetch a link to see its X-Robots-Tag: noindex. */
static const char robots_text[] = "User-agent: *\nDisallow:\n";

/* Most frequent first: each response searches this list. */
static const struct {
	unsigned status;
	const char *labels;
} statuses[] = {
	{ 302, "status=\"302\"" }, { 301, "status=\"301\"" }, { 307, "status=\"307\"" },
	{ 308, "status=\"308\"" }, { 404, "status=\"404\"" }, { 410, "status=\"410\"" },
	{ 429, "status=\"429\"" }, { 503, "status=\"503\"" }, { 200, "status=\"200\"" },
	{ 451, "status=\"451\"" }, { 405, "status=\"405\"" }, { 400, "status=\"400\"" },
	{ 500, "status=\"500\"" },
};
#define STATUSES ARRAY_SIZE(statuses)

struct redirect {
	struct redirect_config config;
	/* The last one: any other status. */
	struct metric *responses[STATUSES + 1];
	struct metric *without_salt;
};

static void register_response_metrics(struct redirect *redirect)
{
	static const char name[] = "waymark_redirector_responses_total";
	static const char help[] = "Responses to visitors by status.";
	struct metrics *metrics = redirect->config.metrics;
	for (size_t i = 0; i < STATUSES; i++)
		redirect->responses[i] = metrics_counter(metrics, name, help, statuses[i].labels);
	redirect->responses[STATUSES] = metrics_counter(metrics, name, help, "status=\"other\"");
}

static void count_response(struct redirect *redirect, unsigned status)
{
	size_t i = 0;
	while (i < STATUSES && statuses[i].status != status)
		i++;
	metrics_add(redirect->responses[i], 1);
}

struct redirect *redirect_new(const struct redirect_config *config)
{
	struct redirect *redirect = mem_zero(sizeof(*redirect));
	redirect->config = *config;
	register_response_metrics(redirect);
	redirect->without_salt = metrics_counter(
		config->metrics, "waymark_events_without_visitor_hash_total",
		"Events without a visitor hash: the address or the salt of the day was not known.",
		NULL);
	return redirect;
}

void redirect_free(struct redirect *redirect)
{
	free(redirect);
}

struct redirect_decision redirect_decide(enum err found, const struct link_entry *entry,
                                         int64_t now_us)
{
	if (found == ERR_NOT_FOUND)
		return (struct redirect_decision){ .status = 404 };
	if (found != OK)
		return (struct redirect_decision){ .status = 503 };
	switch (link_state_at(entry, now_us)) {
	case LINK_STATE_ACTIVE:
		return (struct redirect_decision){ entry->redirect_status, entry->original_url };
	case LINK_STATE_EXPIRED:
		if (entry->expired_url[0] != '\0')
			return (struct redirect_decision){ 302, entry->expired_url };
		return (struct redirect_decision){ .status = 410 };
	case LINK_STATE_DISABLED:
	case LINK_STATE_DELETED:
	case LINK_STATE_SCHEDULED:
		break;
	}
	return (struct redirect_decision){ .status = 404 };
}

/* A host that is longer than any valid one stays out of the event. */
static void copy_host(const char *url, char out[static REDIRECT_EVENT_DESTINATION_HOST_MAX + 1])
{
	const char *host;
	size_t len = link_url_host(url, &host);
	if (len > REDIRECT_EVENT_DESTINATION_HOST_MAX)
		len = 0;
	memcpy(out, host, len);
	out[len] = '\0';
}

/* A hot path: texts whose lengths were checked on input are copied without another check. */
static void record_event(struct redirect *redirect, struct http_exchange *x,
                         const struct link_entry *entry, const struct redirect_decision *decision)
{
	struct redirect_event event;
	struct client_ip visitor = click_counted_visitor(x);
	click_describe(x, &visitor, redirect->config.salts, &event);
	if (!event.has_visitor_hash)
		metrics_add(redirect->without_salt, 1);
	event.link_id = entry->id;
	event.link_version = entry->version;
	event.status = decision->status;
	copy_host(decision->location, event.destination_host);
	click_add_campaign(decision->location, &event);
	memcpy(event.slug, entry->slug, strlen(entry->slug) + 1);
	memcpy(event.region, redirect->config.region, strlen(redirect->config.region) + 1);
	int64_t latency_us =
		clock_steady_us(redirect->config.clock) - http_exchange_arrived_steady_us(x);
	event.latency_us = latency_us > UINT32_MAX ? UINT32_MAX : (uint32_t)latency_us;
	const char *traceparent = http_exchange_traceparent(x);
	memcpy(event.traceparent, traceparent, strlen(traceparent) + 1);
	event_shipper_append(redirect->config.events, &event);
}

static enum http_progress send_redirect(struct redirect *redirect, struct http_exchange *x,
                                        const struct link_entry *entry,
                                        const struct redirect_decision *decision)
{
	http_exchange_set_status(x, decision->status);
	/* A normalised URL has no control bytes. One that has them must not be sent truncated. */
	if (http_exchange_add_header(x, "Location", decision->location) != OK) {
		log_error(redirect->config.log, "destination_rejected",
		          LOG_INT("link_id", entry->id));
		return pages_respond_error(redirect->config.pages, x, 500,
		                           "The link's destination is not a valid header value.");
	}
	const char *cache_control = decision->location == entry->original_url
	                                    ? redirect->config.cache_control
	                                    : "private, no-store";
	http_exchange_add_fixed_header(x, "Cache-Control", cache_control);
	http_exchange_add_fixed_header(x, "X-Robots-Tag", "noindex, nofollow");
	record_event(redirect, x, entry, decision);
	return HTTP_COMPLETE;
}

static enum http_progress respond_unavailable(struct redirect *redirect, struct http_exchange *x)
{
	http_exchange_add_fixed_header(x, "Retry-After", RETRY_AFTER_UNAVAILABLE);
	return pages_respond_error(
		redirect->config.pages, x, 503,
		"The link cannot be checked at the moment. Retry after the time in Retry-After.");
}

static enum http_progress respond_rate_limited(struct redirect *redirect, struct http_exchange *x,
                                               int64_t wait_s)
{
	char text[64];
	enum err err = OK;
	snprintf(text, sizeof(text), "%lld", (long long)wait_s);
	err = err == OK ? http_exchange_add_header(x, "Retry-After", text) : err;
	snprintf(text, sizeof(text), "\"unknown-slugs\";r=0;t=%lld", (long long)wait_s);
	err = err == OK ? http_exchange_add_header(x, "RateLimit", text) : err;
	snprintf(text, sizeof(text), "\"unknown-slugs\";q=%lld;w=60",
	         (long long)redirect->config.unknown_per_minute);
	err = err == OK ? http_exchange_add_header(x, "RateLimit-Policy", text) : err;
	(void)err; /* our own digits contain no control bytes */
	return pages_respond_error(
		redirect->config.pages, x, 429,
		"This address has requested too many unknown links. Retry after the time in Retry-After.");
}

static enum http_progress respond_method_not_allowed(struct redirect *redirect,
                                                     struct http_exchange *x)
{
	http_exchange_add_fixed_header(x, "Allow", ALLOW);
	return pages_respond_error(redirect->config.pages, x, 405,
	                           "This address supports GET and HEAD only.");
}

static bool is_read(const struct http_exchange *x)
{
	enum http_method method = http_exchange_method(x);
	return method == HTTP_GET || method == HTTP_HEAD;
}

/* State, status and destination belong to the same moment: the wall time now_us. */
static enum http_progress respond(struct redirect *redirect, struct http_exchange *x,
                                  enum err found, const struct link_entry *entry, int64_t now_us)
{
	struct redirect_decision decision = redirect_decide(found, entry, now_us);
	if (decision.location &&
	    host_guard_check(redirect->config.hosts, decision.location) != HOST_POLICY_ALLOWED)
		return pages_respond_error(
			redirect->config.pages, x, 451,
			"The operator of this service has blocked the destination host of this link.");
	if (decision.location && !is_read(x) && decision.status != 307 && decision.status != 308)
		return respond_method_not_allowed(redirect, x);
	if (decision.location)
		return send_redirect(redirect, x, entry, &decision);
	if (decision.status == 410)
		return pages_respond_error(redirect->config.pages, x, 410,
		                           "This link has expired.");
	if (decision.status == 503)
		return respond_unavailable(redirect, x);
	return pages_respond_error(redirect->config.pages, x, 404, "This link does not exist.");
}

/* Seconds until the visitor may request unknown slugs again; 0: now. */
static int64_t retry_after_s(struct redirect *redirect, struct http_exchange *x)
{
	struct client_ip visitor = http_exchange_client_ip(x);
	return unknown_slug_limiter_client_retry_after_s(redirect->config.client_limiter, &visitor);
}

static void respond_unknown(struct redirect *redirect, struct http_exchange *x)
{
	int64_t wait_s = retry_after_s(redirect, x);
	if (wait_s > 0) {
		respond_rate_limited(redirect, x, wait_s);
		return;
	}
	struct client_ip visitor = http_exchange_client_ip(x);
	unknown_slug_limiter_client_record_miss(redirect->config.client_limiter, &visitor);
	respond(redirect, x, ERR_NOT_FOUND, NULL, 0);
}

static void leave_loop(void *waiter)
{
	http_exchange_suspend(waiter);
}

/* The keys under which a slug that was typed may be found, in this order. */
enum { FIRST, LAST, KEYS };

struct key {
	const char *text;
	size_t len;
	char exact[SLUG_KEY_SIZE];
};

static void find_key(const struct redirect *redirect, const struct slug_path *typed, int which,
                     struct key *out)
{
	bool is_exact = redirect->config.is_slug_exact == (which == FIRST);
	out->text = is_exact ? out->exact : typed->key;
	out->len = is_exact ? slug_key(typed->slug, true, out->exact) : typed->len;
}

static bool is_lacking(const struct redirect *redirect, const struct slug_path *typed, int which)
{
	struct key key;
	find_key(redirect, typed, which, &key);
	return unknown_slug_limiter_lacks(redirect->config.unknown_slugs, key.text, key.len);
}

/*
 * Whether the last key is worth a lookup after the first one. PostgreSQL has said so (ERR_CONFLICT)
 * or no (ERR_NOT_FOUND); after a 404 of the Bloom filter, the filter can tell.
 */
static bool needs_last_key(const struct redirect *redirect, const struct slug_path *typed,
                           enum err found, const struct link_entry *entry)
{
	struct key key;
	find_key(redirect, typed, LAST, &key);
	if (found == OK)
		return !link_answers_to(entry, typed->slug);
	if (found == ERR_NOT_FOUND)
		return unknown_slug_limiter_knows(redirect->config.unknown_slugs, key.text,
		                                  key.len);
	return found == ERR_CONFLICT || !is_lacking(redirect, typed, LAST);
}

static void respond_found(struct redirect *redirect, struct http_exchange *x, enum err found,
                          const struct link_entry *entry)
{
	if (found == ERR_NOT_FOUND)
		respond_unknown(redirect, x);
	else
		respond(redirect, x, found, entry, clock_now_us(redirect->config.clock));
	http_exchange_resume(x);
}

/* False: x is abandoned, and its memory is gone. Else the slug that it names. */
static bool read_slug(struct http_exchange *x, struct slug_path *typed)
{
	bool is_slug = !http_exchange_is_abandoned(x) && slug_of_path(http_exchange_path(x), typed);
	if (!is_slug)
		http_exchange_resume(x);
	return is_slug;
}

static void on_last_key_done(void *ctx, void *waiter, enum err found,
                             const struct link_entry *entry)
{
	struct slug_path typed;
	if (!read_slug(waiter, &typed))
		return;
	if (found == OK && !link_answers_to(entry, typed.slug))
		found = ERR_NOT_FOUND;
	respond_found(ctx, waiter, found, entry);
}

/* As on_last_key_done, after the first key could not be looked up. */
static void on_last_resort_done(void *ctx, void *waiter, enum err found,
                                const struct link_entry *entry)
{
	on_last_key_done(ctx, waiter, found == ERR_NOT_FOUND ? ERR_UNAVAILABLE : found, entry);
}

static void look_up_last_key(struct redirect *redirect, struct http_exchange *x,
                             const struct slug_path *typed, pending_lookups_callback on_done)
{
	struct key key;
	find_key(redirect, typed, LAST, &key);
	/* True only with a pipeline. */
	(void)link_lookup_start(redirect->config.lookup, NULL, key.text, key.len,
	                        &(struct link_lookup_waiter){ on_done, leave_loop, redirect, x });
}

static void on_first_key_done(void *ctx, void *waiter, enum err found,
                              const struct link_entry *entry)
{
	struct redirect *redirect = ctx;
	struct slug_path typed;
	if (!read_slug(waiter, &typed))
		return;
	if (!needs_last_key(redirect, &typed, found, entry)) {
		respond_found(redirect, waiter, found, entry);
		return;
	}
	leave_loop(waiter);
	look_up_last_key(redirect, waiter, &typed,
	                 found == ERR_UNAVAILABLE ? on_last_resort_done : on_last_key_done);
}

static enum http_progress serve_slug(struct redirect *redirect, struct http_exchange *x,
                                     const struct slug_path *typed)
{
	struct link_entry entry;
	struct key key;
	bool is_other = false;
	for (int which = 0; which < KEYS; which++) {
		find_key(redirect, typed, which, &key);
		if (link_lookup_in_memory(redirect->config.lookup, key.text, key.len,
		                          http_exchange_arrived_steady_us(x), &entry) != OK)
			continue;
		/* It has just arrived, so this saves readings of the clock. */
		if (link_answers_to(&entry, typed->slug))
			return respond(redirect, x, OK, &entry, http_exchange_arrived_us(x));
		is_other |= which == FIRST;
	}
	if (is_lacking(redirect, typed, FIRST) && is_lacking(redirect, typed, LAST)) {
		int64_t wait_s = retry_after_s(redirect, x);
		if (wait_s > 0)
			return respond_rate_limited(redirect, x, wait_s);
	}
	if (is_other) {
		look_up_last_key(redirect, x, typed, on_last_key_done);
		return HTTP_PENDING;
	}
	find_key(redirect, typed, FIRST, &key);
	bool completes_on_loop = link_lookup_start(
		redirect->config.lookup, http_exchange_hook_state(x), key.text, key.len,
		&(struct link_lookup_waiter){ on_first_key_done, leave_loop, redirect, x });
	return completes_on_loop ? HTTP_PENDING_ON_LOOP : HTTP_PENDING;
}

static enum http_progress respond_root(struct redirect *redirect, struct http_exchange *x)
{
	const char *root_url = redirect->config.root_url;
	if (root_url[0] == '\0' || http_exchange_add_header(x, "Location", root_url) != OK)
		return pages_respond_start(redirect->config.pages, x);
	http_exchange_set_status(x, 302);
	http_exchange_add_fixed_header(x, "Cache-Control", "no-store");
	return HTTP_COMPLETE;
}

static enum http_progress respond_robots(struct http_exchange *x)
{
	http_exchange_set_fixed_body(x, "text/plain; charset=utf-8", robots_text,
	                             sizeof(robots_text) - 1);
	return HTTP_COMPLETE;
}

enum http_progress redirect_handle(void *ctx, struct http_exchange *x)
{
	struct redirect *redirect = ctx;
	const char *path = http_exchange_path(x);
	bool is_root = strcmp(path, "/") == 0, is_favicon = strcmp(path, "/favicon.ico") == 0,
	     is_robots = strcmp(path, "/robots.txt") == 0;
	if ((is_root || is_favicon || is_robots) && !is_read(x))
		return respond_method_not_allowed(redirect, x);
	if (is_root)
		return respond_root(redirect, x);
	if (is_favicon)
		return pages_respond_favicon(x);
	if (is_robots)
		return respond_robots(x);
	struct slug_path typed;
	if (slug_of_path(path, &typed))
		return serve_slug(redirect, x, &typed);
	return pages_respond_error(redirect->config.pages, x, 404, "This link does not exist.");
}

void redirect_respond_error(void *ctx, struct http_exchange *x, unsigned status, const char *detail)
{
	const struct redirect *redirect = ctx;
	pages_respond_error(redirect->config.pages, x, status, detail);
}

static void log_response(struct redirect *redirect, const struct http_exchange *x,
                         enum log_level level, const char *event, unsigned status,
                         int64_t duration_us)
{
	char trace_id[TRACE_CONTEXT_ID_SIZE];
	trace_context_id(http_exchange_traceparent(x), trace_id);
	LOG_AT(redirect->config.log, level, event,
	       LOG_TEXT("request_id", http_exchange_request_id(x)),
	       LOG_TEXT_IF("trace_id", trace_id), LOG_INT("status", status),
	       LOG_INT("duration_us", duration_us));
}

/* Every other path is one of a slug. */
static const char *route_of(const char *path)
{
	static const char *const known[] = { "/", "/favicon.ico", "/robots.txt" };
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(path, known[i]) == 0)
			return known[i];
	return "/{slug}";
}

void redirect_observe(void *ctx, const struct http_exchange *x, unsigned status,
                      int64_t duration_us)
{
	struct redirect *redirect = ctx;
	count_response(redirect, status);
	/* 503 is not logged: an outage may cause thousands per second. */
	bool is_sampled = trace_context_is_sampled(http_exchange_traceparent(x));
	if (status == 500)
		log_response(redirect, x, LOG_ERROR, "request_failed", status, duration_us);
	else if (is_sampled)
		log_response(redirect, x, LOG_INFO, "request", status, duration_us);
	if (is_sampled)
		tracer_end(redirect->config.tracer, x, route_of(http_exchange_path(x)), status,
		           duration_us);
}
