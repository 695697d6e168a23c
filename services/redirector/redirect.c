#include "services/redirector/redirect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/trace_context.h"
#include "lib/http/http_font.h"
#include "lib/links/slug.h"

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

static enum http_progress send_redirect(struct redirect *redirect, struct http_exchange *x,
                                        const struct link_entry *entry,
                                        const struct redirect_decision *decision)
{
	const char *cache_control = decision->location == entry->original_url
	                                    ? redirect->config.links.cache_control
	                                    : "private, no-store";
	struct link_responder_target target = { decision->status, decision->location, NULL,
		                                cache_control };
	struct redirect_event event;
	visit_recorder_describe(redirect->config.links.recorder, x, &event);
	return link_responder_redirect(&redirect->config.links, x, entry, &target, &event);
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
		redirect->config.links.pages, x, 429,
		"This address has requested too many unknown links. Retry after the time in Retry-After.");
}

static enum http_progress respond_unknown(struct redirect *redirect, struct http_exchange *x)
{
	return pages_respond_error(redirect->config.links.pages, x, 404,
	                           "This link does not exist.");
}

/* A link that leads somewhere, from a path that is not only its slug. */
static enum http_progress respond_longer(struct redirect *redirect, struct http_exchange *x,
                                         const struct link_entry *entry,
                                         const struct slug_path *typed, int64_t now_us)
{
	bool is_active = link_state_at(entry, now_us) == LINK_STATE_ACTIVE;
	if (!typed->is_preview && is_active && entry->extras_len > 0)
		return link_responder_respond(&redirect->config.links, x, entry, typed, now_us);
	if (!typed->is_preview)
		return respond_unknown(redirect, x);
	if (!link_responder_accepts(x, 0))
		return link_responder_respond_method(redirect->config.links.pages, x);
	if (host_guard_check(redirect->config.links.hosts, entry->original_url) !=
	    HOST_POLICY_ALLOWED)
		return link_responder_respond_host(redirect->config.links.pages, x);
	return is_active ? link_preview_respond(redirect->config.preview, x, entry)
	                 : pages_respond_error(redirect->config.links.pages, x, 410,
	                                       "This link has expired.");
}

/* State, status and destination belong to the same moment: the wall time now_us. */
static enum http_progress respond(struct redirect *redirect, struct http_exchange *x,
                                  enum err found, const struct link_entry *entry,
                                  const struct slug_path *typed, int64_t now_us)
{
	const struct link_responder *links = &redirect->config.links;
	struct redirect_decision decision = redirect_decide(found, entry, now_us);
	if (decision.location && entry->is_blocked)
		return pages_respond_reason(links->pages, x, "blocked",
		                            "The operator of this service has blocked this link.");
	if (decision.location && (typed->rest[0] != '\0' || typed->is_preview))
		return respond_longer(redirect, x, entry, typed, now_us);
	if (decision.location && entry->extras_len > 0 && decision.location == entry->original_url)
		return link_responder_respond(links, x, entry, typed, now_us);
	if (decision.location &&
	    host_guard_check(links->hosts, decision.location) != HOST_POLICY_ALLOWED)
		return link_responder_respond_host(links->pages, x);
	if (decision.location && !link_responder_accepts(x, decision.status))
		return link_responder_respond_method(links->pages, x);
	if (decision.location)
		return send_redirect(redirect, x, entry, &decision);
	if (decision.status == 410)
		return pages_respond_error(links->pages, x, 410, "This link has expired.");
	if (decision.status == 503)
		return link_responder_respond_unavailable(links->pages, x);
	return respond_unknown(redirect, x);
}

/* Seconds until the visitor may request unknown slugs again; 0: now. */
static int64_t retry_after_s(struct redirect *redirect, struct http_exchange *x)
{
	struct client_ip visitor = http_exchange_client_ip(x);
	return unknown_slug_limiter_client_retry_after_s(redirect->config.client_limiter, &visitor);
}

static void count_unknown(struct redirect *redirect, struct http_exchange *x)
{
	int64_t wait_s = retry_after_s(redirect, x);
	if (wait_s > 0) {
		respond_rate_limited(redirect, x, wait_s);
		return;
	}
	struct client_ip visitor = http_exchange_client_ip(x);
	unknown_slug_limiter_client_record_miss(redirect->config.client_limiter, &visitor);
	respond_unknown(redirect, x);
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
                          const struct link_entry *entry, const struct slug_path *typed)
{
	enum http_progress progress = HTTP_COMPLETE;
	if (found == ERR_NOT_FOUND)
		count_unknown(redirect, x);
	else
		progress = respond(redirect, x, found, entry, typed,
		                   clock_now_us(redirect->config.clock));
	if (progress == HTTP_COMPLETE)
		http_exchange_resume(x);
}

static bool find_slug(const char *path, struct slug_path *typed)
{
	return slug_of_path(path, typed) || slug_of_longer_path(path, typed);
}

/* False: x is abandoned, and its memory is gone. Else the slug that it names. */
static bool read_slug(struct http_exchange *x, struct slug_path *typed)
{
	bool is_slug = !http_exchange_is_abandoned(x) && find_slug(http_exchange_path(x), typed);
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
	respond_found(ctx, waiter, found, entry, &typed);
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
		respond_found(redirect, waiter, found, entry, &typed);
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
			return respond(redirect, x, OK, &entry, typed, http_exchange_arrived_us(x));
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
		return pages_respond_start(redirect->config.links.pages, x);
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
	if ((is_root || is_favicon || is_robots) && !link_responder_accepts(x, 0))
		return link_responder_respond_method(redirect->config.links.pages, x);
	if (is_root)
		return respond_root(redirect, x);
	if (is_favicon)
		return pages_respond_favicon(x);
	if (is_robots)
		return respond_robots(x);
	struct slug_path typed;
	if (find_slug(path, &typed))
		return serve_slug(redirect, x, &typed);
	if (link_responder_accepts(x, 0) &&
	    (app_documents_respond(redirect->config.documents, x, path) ||
	     http_logo_respond(pages_site(redirect->config.links.pages)->logo, x) ||
	     http_font_respond(x)))
		return HTTP_COMPLETE;
	return respond_unknown(redirect, x);
}

void redirect_respond_error(void *ctx, struct http_exchange *x, unsigned status, const char *detail)
{
	const struct redirect *redirect = ctx;
	pages_respond_error(redirect->config.links.pages, x, status, detail);
}

static void log_response(struct redirect *redirect, const struct http_exchange *x,
                         enum log_level level, const char *event, unsigned status,
                         int64_t duration_us)
{
	char trace_id[TRACE_CONTEXT_ID_SIZE];
	trace_context_id(http_exchange_traceparent(x), trace_id);
	LOG_AT(redirect->config.links.log, level, event,
	       LOG_TEXT("request_id", http_exchange_request_id(x)),
	       LOG_TEXT_IF("trace_id", trace_id), LOG_INT("status", status),
	       LOG_INT("duration_us", duration_us));
}

/* Every other path is one of a slug. */
static const char *route_of(const char *path)
{
	static const char *const known[] = { "/", "/favicon.ico", "/robots.txt",
		                             "/.well-known/apple-app-site-association",
		                             "/.well-known/assetlinks.json" };
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
