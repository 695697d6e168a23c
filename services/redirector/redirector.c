#include "services/redirector/redirector.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/clicks/redirect_batch.h"
#include "lib/http/ops_server.h"
#include "services/redirector/feed/link_feed.h"
#include "services/redirector/lookup/redis_loop.h"
#include "services/redirector/lookup/slug_bloom_filter.h"
#include "services/redirector/pages/pages.h"
#include "services/redirector/redirect.h"

#define LOOKUPS_MAX 16384
#define HEADER_DEADLINE_MS 10000
#define IDLE_MS 60000
/* The part of DRAIN_MS that running requests may take; the rest is for Kafka. */
#define DRAIN_HTTP_MS_MAX 5000
/* A small body of a GET is read and ignored, so the request gets a response. */
#define BODY_BYTES_MAX 4096

struct redirector {
	const struct config *config;
	struct corrected_clock corrected;
	/* The corrected one, for all parts. */
	const struct clock *clock;
	const struct log *log;
	struct metrics *metrics;
	struct client_ip_ranges trusted;
	struct kafka_config kafka;

	struct pg_pool *postgres;
	struct redis_pool *redis;
	struct link_cache *link_cache;
	struct memory_cache *memory;
	struct watermark_tracker watermark;
	struct recent_changes *changes;
	struct slug_bloom_filter *filter;
	struct bloom_filter_loader *loader;
	struct unknown_slug_limiter *limiter;
	struct link_feed *feed;
	struct kafka_config feed_kafka;
	struct link_lookup *lookup;
	struct salt_cache *salts;
	struct event_shipper *events;
	struct client_limiter *client_limiter;
	struct host_guard *hosts;
	struct page_texts *texts;
	struct http_logo *logo;
	struct pages *pages;
	struct app_documents *documents;
	struct visitor_facts *facts;
	struct visit_recorder recorder;
	struct link_gate *gate;
	struct link_preview *preview;
	struct tracer *tracer;
	struct redirect *redirect;

	struct ops_server_check checks[3];
	struct ops_server_count counts[3];
	struct ops_server *ops;
	struct redis_pipeline_config pipeline;
	struct http_loop_hook loop_hook;
	struct http_server *http;
};

static enum err create_stores(struct redirector *r)
{
	size_t workers = (size_t)r->config->workers;
	r->postgres = pg_pool_new(&(struct pg_pool_config){
		.url = r->config->pg_url,
		.application_name = "waymark-redirector",
		/* salt_cache, bloom_filter_loader, host_guard and app_documents */
		.max = workers + 4 + LINK_GATE_CONNECTIONS + LINK_PREVIEW_CONNECTIONS,
		.wait_ms = r->config->pg_wait_ms,
		.connect_timeout_ms = r->config->pg_wait_ms / 2,
		.statement_timeout_ms = r->config->pg_statement_timeout_ms,
		.is_pooled = r->config->pg_pooled,
		.schema_version = WAYMARK_SCHEMA_VERSION,
		.clock = r->clock,
		.log = r->log,
		.metrics = r->metrics,
	});
	enum err err = redis_pool_new(
		&(struct redis_pool_config){
			.url = r->config->redis_url,
			.ca_file = r->config->redis_ssl_ca_file,
			.max = 2 * workers + 1, /* queries, fills, and the validity check */
			.timeout_ms = r->config->redis_timeout_ms,
			.clock = r->clock,
			.log = r->log,
			.metrics = r->metrics,
		},
		&r->redis);
	if (err == OK)
		r->link_cache =
			link_cache_new(&(struct link_cache_config){ .redis = r->redis,
		                                                    .clock = r->clock,
		                                                    .log = r->log,
		                                                    .metrics = r->metrics });
	return err;
}

static void create_lookup(struct redirector *r)
{
	r->memory = memory_cache_new((size_t)r->config->memory_cache_bytes,
	                             r->config->memory_ttl_ms * CLOCK_US_PER_MS);
	memory_cache_measure(r->memory, r->metrics);
	r->changes = recent_changes_new();
	memory_cache_use_feed(r->memory, &r->watermark, r->changes);
	r->filter = slug_bloom_filter_new((size_t)r->config->slug_bloom_filter_slugs);
	r->limiter = unknown_slug_limiter_new(&(struct unknown_slug_limiter_config){
		.filter = r->filter,
		.watermark = &r->watermark,
		.queries_per_second = r->config->unknown_queries_per_second,
		.waiting_max = LOOKUPS_MAX / 2,
		.clock = r->clock,
		.metrics = r->metrics,
	});
	r->lookup = link_lookup_new(&(struct link_lookup_config){
		.memory = r->memory,
		.redis = r->link_cache,
		.postgres = r->postgres,
		.changes = r->changes,
		.limiter = r->limiter,
		.workers = (size_t)r->config->workers,
		.lookups_max = LOOKUPS_MAX,
		.is_slug_exact = slug_case_is_exact(r->config->slug_case),
		.clock = r->clock,
		.metrics = r->metrics,
	});
}

static enum err create_feed(struct redirector *r)
{
	if (strcmp(r->config->link_feed_topic, CONFIG_NO_TOPIC) == 0)
		return OK;
	r->feed_kafka = r->config->kafka;
	snprintf(r->feed_kafka.client_id, sizeof(r->feed_kafka.client_id),
	         "waymark-redirector-feed");
	enum err err = link_feed_start(
		&(struct link_feed_config){
			.kafka = &r->feed_kafka,
			.topic = r->config->link_feed_topic,
			.watermark_topic = r->config->link_watermark_topic,
			.watermark = &r->watermark,
			.corrected = &r->corrected,
			.changes = r->changes,
			.memory = r->memory,
			.memory_ttl_ms = r->config->memory_ttl_ms,
			.link_cache = r->link_cache,
			.redis = r->redis,
			.filter = r->filter,
			.limiter = r->limiter,
			.clock = r->clock,
			.log = r->log,
			.metrics = r->metrics,
		},
		&r->feed);
	if (err == OK)
		r->loader = slug_bloom_filter_loader_start(&(struct bloom_filter_loader_config){
			.filter = r->filter,
			.limiter = r->limiter,
			.watermark = &r->watermark,
			.postgres = r->postgres,
			.log = r->log,
			.metrics = r->metrics,
		});
	return err;
}

static enum err create_events(struct redirector *r)
{
	r->kafka = r->config->kafka;
	snprintf(r->kafka.client_id, sizeof(r->kafka.client_id), "waymark-redirector");
	r->salts = click_salts_new(r->postgres, r->clock, r->log);
	return event_shipper_new(
		&(struct event_shipper_config){
			.kafka = &r->kafka,
			.topic = REDIRECT_BATCH_TOPIC,
			.journal_dir = r->config->journal_dir,
			.bytes_max = (size_t)r->config->journal_max_bytes,
			.fsync_ms = r->config->journal_fsync_ms,
			.clock = r->clock,
			.log = r->log,
			.metrics = r->metrics,
		},
		&r->events);
}

static enum err create_host_guard(struct redirector *r)
{
	return host_guard_start(
		&(struct host_guard_config){
			.blocked_file = r->config->blocked_hosts_file,
			.allowed_file = r->config->allowed_hosts_file,
			.postgres = r->postgres,
			.interval_ms = r->config->hosts_check_ms,
			.clock = r->clock,
			.log = r->log,
			.metrics = r->metrics,
		},
		&r->hosts);
}

static enum err create_pages(struct redirector *r)
{
	const struct config *c = r->config;
	struct strbuf problems;
	strbuf_init(&problems, 4096);
	enum err err = page_texts_read(c->pages_file, &problems, &r->texts);
	if (err == OK)
		err = http_logo_read(c->operator_logo_file, &problems, &r->logo);
	if (err == OK)
		r->pages = pages_new(&(struct page_site){
			.texts = r->texts,
			.public_base_url = c->public_base_url,
			.dashboard_url = c->dashboard_url,
			.operator_name = c->operator_name,
			.logo = r->logo,
			.operator_contact = c->operator_contact,
		});
	else
		log_error(r->log, "pages_file_rejected", LOG_TEXT("reason", problems.data));
	strbuf_clear(&problems);
	return err;
}

static enum err create_facts(struct redirector *r)
{
	enum err err = visitor_facts_open(
		&(struct visitor_facts_config){
			.geoip_db = r->config->geoip_db,
			.ua_regexes = r->config->ua_regexes,
			.user_agent_cache = (size_t)r->config->user_agent_cache,
			.check_ms = r->config->hosts_check_ms,
			.log = r->log,
			.metrics = r->metrics,
		},
		&r->facts);
	if (err == OK)
		metrics_set(metrics_gauge(r->metrics, "waymark_redirector_places_known",
		                          "1 if rules can ask for places: GEOIP_DB is set.", NULL),
		            visitor_facts_has_places(r->facts));
	return err;
}

/* For links with extras. */
static void create_decisions(struct redirector *r)
{
	r->documents = app_documents_start(r->postgres, r->config->hosts_check_ms);
	r->preview = link_preview_new(r->postgres, r->pages);
	r->gate = link_gate_new(
		&(struct link_gate_config){ r->postgres, r->pages, r->clock, r->metrics });
	visit_recorder_init(&r->recorder, r->events, r->salts, r->config->region, r->clock,
	                    r->metrics);
}

static void create_handler(struct redirector *r)
{
	r->trusted = config_trusted_proxies(r->config);
	r->client_limiter =
		unknown_slug_limiter_client_new(r->config->unknown_slugs_per_minute, r->clock);
	r->tracer = tracer_start(&r->config->tracing, "redirector", r->log, r->metrics);
	r->redirect = redirect_new(&(struct redirect_config){
		.lookup = r->lookup,
		.client_limiter = r->client_limiter,
		.unknown_slugs = r->limiter,
		.links = {
			.recorder = &r->recorder,
			.facts = r->facts,
			.gate = r->gate,
			.hosts = r->hosts,
			.pages = r->pages,
			.cache_control = r->config->redirect_cache_control,
			.clock = r->clock,
			.log = r->log,
		},
		.preview = r->preview,
		.documents = r->documents,
		.root_url = r->config->root_url,
		.unknown_per_minute = r->config->unknown_slugs_per_minute,
		.is_slug_exact = slug_case_is_exact(r->config->slug_case),
		.tracer = r->tracer,
		.clock = r->clock,
		.metrics = r->metrics,
	});
}

enum err redirector_new(const struct config *config, const struct clock *clock,
                        const struct log *log, struct metrics *metrics, struct redirector **out)
{
	struct redirector *r = mem_zero(sizeof(*r));
	r->config = config;
	link_feed_clock_init(&r->corrected, clock, log);
	r->clock = &r->corrected.clock;
	r->log = log;
	r->metrics = metrics;
	watermark_tracker_init(&r->watermark, r->clock,
	                       config->feed_fresh_us ? config->feed_fresh_us
	                                             : WATERMARK_TRACKER_FRESH_US);
	enum err err = create_stores(r);
	if (err != OK)
		goto out;
	create_lookup(r);
	err = create_feed(r);
	if (err == OK)
		err = create_events(r);
	if (err == OK)
		err = create_host_guard(r);
	if (err == OK)
		err = create_pages(r);
	if (err == OK)
		err = create_facts(r);
	if (err != OK)
		goto out;
	create_decisions(r);
	create_handler(r);
	*out = r;
	return OK;
out:
	redirector_free(r);
	return err;
}

static bool can_redirect(void *ctx)
{
	struct redirector *r = ctx;
	return pg_pool_is_reachable(r->postgres) || redis_pool_is_reachable(r->redis);
}

static bool has_links_in_memory(void *ctx)
{
	struct redirector *r = ctx;
	return memory_cache_usage(r->memory).entries > 0;
}

static int64_t count_queued_events(void *ctx)
{
	return (int64_t)event_shipper_count(ctx).queued;
}

static int64_t has_places(void *ctx)
{
	return visitor_facts_has_places(ctx);
}

static enum err serve_operators(struct redirector *r)
{
	r->counts[0] = (struct ops_server_count){ .name = "events_queued",
		                                  .value = count_queued_events,
		                                  .ctx = r->events };
	r->counts[1] = (struct ops_server_count){ .name = "events_dropped",
		                                  .value = event_shipper_dropped_lately,
		                                  .ctx = r->events };
	r->counts[2] = (struct ops_server_count){ .name = "places_known",
		                                  .value = has_places,
		                                  .ctx = r->facts };
	r->checks[0] = (struct ops_server_check){ "postgres_or_redis", can_redirect, r,
		                                  has_links_in_memory };
	r->checks[1] =
		(struct ops_server_check){ "journal", event_shipper_is_healthy, r->events, NULL };
	/* Redis alone suffices in an outage, but not before the database is migrated. */
	r->checks[2] = (struct ops_server_check){ "schema", pg_pool_is_schema_supported,
		                                  r->postgres, NULL };
	return ops_server_start(
		&(struct ops_server_config){
			.address = r->config->ops_address,
			.port = (uint16_t)r->config->ops_port,
			.checks = r->checks,
			.check_count = 3,
			.counts = r->counts,
			.count_count = 3,
			.metrics = r->metrics,
			.clock = r->clock,
			.log = r->log,
		},
		&r->ops);
}

static enum err serve_visitors(struct redirector *r)
{
	r->pipeline = (struct redis_pipeline_config){
		.url = r->config->redis_url,
		.ca_file = r->config->redis_ssl_ca_file,
		.timeout_ms = r->config->redis_timeout_ms,
		.in_flight_max = LOOKUPS_MAX,
		.clock = r->clock,
		.log = r->log,
	};
	r->loop_hook = redis_loop_hook(&r->pipeline);
	return http_server_start(
		&(struct http_server_config){
			.name = "public",
			.address = r->config->http_address,
			.port = (uint16_t)r->config->http_port,
			.loops = (size_t)r->config->http_loops,
			.connections = (size_t)r->config->http_connections,
			.connections_per_ip = (size_t)r->config->http_connections_per_ip,
			.body_bytes_max = BODY_BYTES_MAX,
			.needs_length = true,
			.answers_unread = true,
			.body_limit = link_gate_body_limit,
			.header_deadline_ms = HEADER_DEADLINE_MS,
			.idle_ms = IDLE_MS,
			.trusted = &r->trusted,
			.client_ip_header = r->config->client_ip_header,
			.handler = redirect_handle,
			.error_response = redirect_respond_error,
			.observer = redirect_observe,
			.begin_span = r->tracer ? tracer_begin : NULL,
			.tracer = r->tracer,
			.loop_hook = &r->loop_hook,
			.ctx = r->redirect,
			.clock = r->clock,
			.log = r->log,
			.metrics = r->metrics,
		},
		&r->http);
}

enum err redirector_serve(struct redirector *r)
{
	/* The public port opens first: /readyz must not succeed before it accepts connections. */
	enum err err = serve_visitors(r);
	return err == OK ? serve_operators(r) : err;
}

uint16_t redirector_http_port(const struct redirector *r)
{
	return http_server_port(r->http);
}

uint16_t redirector_ops_port(const struct redirector *r)
{
	return ops_server_port(r->ops);
}

enum err redirector_drain(struct redirector *r)
{
	if (r->ops)
		ops_server_set_draining(r->ops);
	log_info(r->log, "flushing",
	         LOG_INT("events", (int64_t)event_shipper_count(r->events).queued));
	event_shipper_end_linger(r->events);
	if (r->http)
		http_server_enter_lame_duck(r->http, r->config->drain_notice_ms);
	int64_t until_us = clock_steady_us(clock_system()) + r->config->drain_ms * CLOCK_US_PER_MS;
	if (r->http)
		http_server_stop(r->http, DRAIN_HTTP_MS_MAX);
	r->http = NULL;
	int64_t left_ms = (until_us - clock_steady_us(clock_system())) / CLOCK_US_PER_MS;
	enum err err = event_shipper_flush(r->events, left_ms > 0 ? left_ms : 0);
	if (r->ops)
		ops_server_stop(r->ops);
	r->ops = NULL;
	return err;
}

/* Closing the limiter completes held lookups, so that link_lookup_free can return. */
static void stop_feed(struct redirector *r)
{
	link_feed_stop(r->feed);
	slug_bloom_filter_loader_stop(r->loader);
	if (r->limiter)
		unknown_slug_limiter_close(r->limiter);
}

void redirector_free(struct redirector *r)
{
	if (!r)
		return;
	redirect_free(r->redirect);
	tracer_stop(r->tracer);
	link_gate_free(r->gate);
	link_preview_free(r->preview);
	app_documents_stop(r->documents);
	visitor_facts_close(r->facts);
	pages_free(r->pages);
	page_texts_free(r->texts);
	http_logo_free(r->logo);
	unknown_slug_limiter_client_free(r->client_limiter);
	host_guard_stop(r->hosts);
	event_shipper_free(r->events);
	click_salts_free(r->salts);
	stop_feed(r);
	link_lookup_free(r->lookup);
	unknown_slug_limiter_free(r->limiter);
	slug_bloom_filter_free(r->filter);
	recent_changes_free(r->changes);
	memory_cache_free(r->memory);
	link_cache_free(r->link_cache);
	redis_pool_free(r->redis);
	pg_pool_free(r->postgres);
	free(r);
}
