#include "services/redirector/config.h"

#include <stdbool.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/env.h"
#include "lib/base/utf8.h"
#include "lib/http/http_server.h"
#include "lib/links/host_guard.h"
#include "lib/links/link_event.h"
#include "lib/links/watermark.h"
#include "lib/postgres/pg_conn.h"
#include "lib/redis/redis_tls.h"
#include "lib/redis/redis_url.h"
#include "lib/visitors/visitor_facts.h"
#include "services/redirector/pages/page_texts.h"

static const struct env_var vars[] = {
	ENV_GROUP("Service"),
	ENV_TEXT("PUBLIC_BASE_URL", struct config, public_base_url, NULL,
	         "URL prefix of short links: https://sho.rt, without a path"),
	ENV_TEXT("REGION", struct config, region, "",
	         "region name that is written into each event"),
	ENV_INT("DRAIN_MS", struct config, drain_ms, "25000", 5000, 3600000,
	        "how long running requests and the flush of events may take after DRAIN_NOTICE_MS"),
	SLUG_CASE_VAR(struct config),
	ENV_GROUP("HTTP"),
	HTTP_SERVER_VARS(struct config, "8080", "2", "10000", "1000"),
	HTTP_SERVER_OPS_VARS(struct config, "9090"),
	ENV_TEXT("REDIRECT_CACHE_CONTROL", struct config, redirect_cache_control,
	         "private, no-store",
	         "Cache-Control of redirects; visits that a cache answers are not counted"),
	ENV_GROUP("Pages"),
	ENV_TEXT("ROOT_URL", struct config, root_url, "",
	         "redirect target of /; empty = a page that says what this site is"),
	ENV_TEXT(
		"DASHBOARD_URL", struct config, dashboard_url, "",
		"URL of the dashboard of links-api, linked from the page at /; /report beside it, from pages about links; "
		"empty = no links"),
	ENV_TEXT("OPERATOR_NAME", struct config, operator_name, "",
	         "who operates this service, on every page for visitors; empty = nobody is named"),
	HTTP_LOGO_VAR(struct config),
	ENV_TEXT("OPERATOR_CONTACT", struct config, operator_contact, "",
	         "mail address or https URL on every page for visitors; empty = none"),
	ENV_TEXT(
		"PAGES_FILE", struct config, pages_file, "",
		"file with texts of pages in more languages (docs/operations.md); empty = English, French and German"),
	ENV_GROUP("PostgreSQL"),
	PG_CONN_VARS(struct config, "2000", "a login with the rights of waymark_redirector"),
	PG_CONN_POOLED_VAR(struct config),
	/* On a busy day, a wait of two seconds is better than a 503. */
	PG_CONN_WAIT_VAR(struct config),
	ENV_INT("WORKERS", struct config, workers, "8", 1, 256,
	        "threads that query PostgreSQL; as many more query Redis while a loop has no connection to it"),
	ENV_GROUP("Redis"),
	REDIS_URL_VARS(struct config, "30"),
	ENV_GROUP("Kafka"),
	KAFKA_CONFIG_VARS(struct config, kafka),
	ENV_TEXT("LINK_FEED_TOPIC", struct config, link_feed_topic, LINK_EVENT_TOPIC,
	         "Kafka topic of link events; " CONFIG_NO_TOPIC
	         " = no feed, memory entries live for MEMORY_TTL_MS"),
	ENV_CONSTANT_TEXT(struct config, link_watermark_topic, WATERMARK_TOPIC),
	ENV_GROUP("Links in memory"),
	ENV_INT("MEMORY_CACHE_BYTES", struct config, memory_cache_bytes, "67108864", 1048576,
	        INT64_C(1) << 40,
	        "memory for cached links; a link takes about 90 bytes plus its URL"),
	ENV_INT("MEMORY_TTL_MS", struct config, memory_ttl_ms, "1000", 1, 3600000,
	        "how long a link is served from memory while the feed of link events lags, so the longest time that a "
	        "change may go unnoticed then; at least 5000 while Redis is down as well"),
	ENV_INT("SLUG_BLOOM_FILTER_SLUGS", struct config, slug_bloom_filter_slugs, "10000000", 1000,
	        INT64_C(1) << 34,
	        "capacity of the Bloom filter of issued slugs, 1.2 bytes each; beyond it, unknown slugs reach PostgreSQL"),
	ENV_GROUP("Journal"),
	ENV_TEXT(
		"JOURNAL_DIR", struct config, journal_dir, NULL,
		"directory of the journal, where events wait for Kafka; not shared with another redirector; its parent must exist"),
	ENV_INT("JOURNAL_MAX_BYTES", struct config, journal_max_bytes, "268435456", 1048576,
	        INT64_C(1) << 36,
	        "largest size of the journal, a quarter for each of its four shards; beyond it, events are dropped and counted"),
	ENV_INT("JOURNAL_FSYNC_MS", struct config, journal_fsync_ms, "0", 0, 60000,
	        "how often the journal is synced to disk, so what a power cut may cost; 0 = the kernel decides"),
	ENV_GROUP("Limits"),
	ENV_LIMIT(
		"UNKNOWN_SLUGS_PER_MINUTE", struct config, unknown_slugs_per_minute, "60", 1,
		1000000,
		"unknown slugs that one address may request per minute before further ones get 429, an IPv6 /48 four times "
		"as many"),
	ENV_INT("UNKNOWN_QUERIES_PER_SECOND", struct config, unknown_queries_per_second, "20", 0,
	        1000000,
	        "PostgreSQL queries per second for slugs missing from the Bloom filter, for a faster 404; more slugs wait, with 0 all"),
	ENV_GROUP("Destinations"),
	HOST_GUARD_VARS(struct config),
	ENV_GROUP("Facts about visitors, for rules"),
	VISITOR_FACTS_VARS(struct config),
	/* Each takes about 0.7 kB of memory. */
	ENV_CONSTANT_INT(struct config, user_agent_cache, "20000"),
	ENV_GROUP("Traces"),
	TRACER_VARS(struct config, tracing),
	ENV_GROUP("Logging"),
	ENV_LOG_LEVEL(struct config, log_level),
};

static bool is_header_value(const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (*c < ' ' || *c >= 0x7f)
			return false;
	}
	return true;
}

static bool is_mail_address(const char *text)
{
	const char *at = strchr(text, '@');
	return is_header_value(text) && !strpbrk(text, " ?") && at && at != text && at[1] != '\0';
}

static size_t check_pages(const struct config *config, struct strbuf *problems)
{
	size_t wrong = 0;
	struct page_texts *texts = NULL;
	wrong += env_expect(utf8_is_valid(config->operator_name, strlen(config->operator_name)),
	                    "OPERATOR_NAME", "must be valid UTF-8", problems);
	if (strstr(config->operator_contact, "://"))
		wrong += env_check_http_url(config->operator_contact, "OPERATOR_CONTACT", problems);
	else if (config->operator_contact[0])
		wrong += env_expect(is_mail_address(config->operator_contact), "OPERATOR_CONTACT",
		                    "must be a mail address or an http or https URL", problems);
	wrong += http_logo_check(config->operator_logo_file, problems);
	if (page_texts_read(config->pages_file, problems, &texts) != OK)
		wrong++;
	page_texts_free(texts);
	return wrong;
}

static size_t check_addresses(const struct config *config, struct strbuf *problems)
{
	size_t wrong = 0;
	wrong += env_check_other_port(config->ops_port, config->http_port, "OPS_PORT", "HTTP_PORT",
	                              problems);
	wrong += env_check_http_url(config->public_base_url, "PUBLIC_BASE_URL", problems);
	if (wrong == 0) {
		const char *host = strstr(config->public_base_url, "://") + strlen("://");
		const char *rest = host + strcspn(host, "/?#");
		wrong += env_expect(strcmp(rest, "") == 0 || strcmp(rest, "/") == 0,
		                    "PUBLIC_BASE_URL",
		                    "must end with its host or port: redirectors answer at "
		                    "https://HOST/SLUG, below no path",
		                    problems);
	}
	if (config->root_url[0])
		wrong += env_check_http_url(config->root_url, "ROOT_URL", problems);
	if (config->dashboard_url[0])
		wrong += env_check_http_url(config->dashboard_url, "DASHBOARD_URL", problems);
	wrong += env_check_networks(config->trusted_proxies, "TRUSTED_PROXIES", problems);
	wrong += http_server_check_client_ip_header(config->client_ip_header, problems);
	return wrong;
}

static size_t check(const void *ctx, struct strbuf *problems)
{
	const struct config *config = ctx;
	size_t wrong = 0;
	wrong += env_expect(http_server_is_address(config->http_address), "HTTP_ADDRESS",
	                    "must be an IPv4 or IPv6 address", problems);
	wrong += env_expect(http_server_is_address(config->ops_address), "OPS_ADDRESS",
	                    "must be an IPv4 or IPv6 address", problems);
	wrong += pg_conn_url_check(config->pg_url, problems);
	wrong += redis_url_check(config->redis_url, problems);
	wrong += redis_tls_check(config->redis_url, config->redis_ssl_ca_file, problems);
	wrong += kafka_config_check(&config->kafka, problems);
	wrong += kafka_config_check_name(config->link_feed_topic, "LINK_FEED_TOPIC", problems);
	wrong += env_check_directory(config->journal_dir, "JOURNAL_DIR", problems);
	wrong += check_addresses(config, problems);
	wrong += env_expect(is_header_value(config->redirect_cache_control),
	                    "REDIRECT_CACHE_CONTROL",
	                    "must be printable ASCII, as an HTTP header value", problems);
	wrong += env_expect(utf8_is_valid(config->region, strlen(config->region)), "REGION",
	                    "must be valid UTF-8", problems);
	wrong += env_expect(slug_case_is_valid(config->slug_case), "SLUG_CASE",
	                    "must be folded or exact", problems);
	wrong += host_guard_check_files(config->blocked_hosts_file, config->allowed_hosts_file,
	                                problems);
	wrong += check_pages(config, problems);
	wrong += visitor_facts_check(config->geoip_db, config->ua_regexes, problems);
	wrong += tracer_config_check(&config->tracing, problems);
	return wrong;
}

const struct program config_program = {
	.name = "redirector",
	.summary = "redirects visitors of short links to their destinations and records each visit",
	.vars = vars,
	.var_count = ARRAY_SIZE(vars),
	.config_size = sizeof(struct config),
	.check = check,
};

struct client_ip_ranges config_trusted_proxies(const struct config *config)
{
	struct client_ip_ranges ranges;
	if (client_ip_ranges_parse(config->trusted_proxies, &ranges) != OK)
		ranges.count = 0;
	return ranges;
}
