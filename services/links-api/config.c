#include "services/links-api/http/config.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/base/client_ip.h"
#include "lib/base/env.h"
#include "lib/base/mail_address.h"
#include "lib/base/password.h"
#include "lib/base/utf8.h"
#include "lib/http/http_logo.h"
#include "lib/http/http_server.h"
#include "lib/links/host_guard.h"
#include "lib/links/slug.h"
#include "lib/postgres/pg_conn.h"
#include "lib/redis/redis_tls.h"
#include "lib/redis/redis_url.h"
#include "services/links-api/destinations/app_url.h"
#include "services/links-api/destinations/public_base.h"
#include "services/links-api/health/health_probe.h"
#include "services/links-api/http/cors.h"
#include "services/links-api/identity/access_token.h"
#include "services/links-api/identity/oidc_config.h"

static const struct env_var vars[] = {
	ENV_GROUP("Service"),
	ENV_TEXT("PUBLIC_BASE_URL", struct config, public_base_url, NULL,
	         "URL prefix of short links, without a path; links may not point at its host"),
	ENV_TEXT("DASHBOARD_URL", struct config, dashboard_url, "",
	         "address of the dashboard, to which mails lead; empty = /app/ of PUBLIC_BASE_URL"),
	ENV_TEXT("OPERATOR_NAME", struct config, operator_name, "",
	         "who operates this service, on the form for reports; empty = nobody is named"),
	HTTP_LOGO_VAR(struct config),
	ENV_INT("DRAIN_MS", struct config, drain_ms, "10000", 0, 600000,
	        "how long running requests may take after DRAIN_NOTICE_MS"),
	ENV_GROUP("HTTP"),
	HTTP_SERVER_VARS(struct config, "8081", "1", "1024", "128"),
	HTTP_SERVER_OPS_VARS(struct config, "9081"),
	ENV_INT("HTTP_WORKERS", struct config, http_workers, "8", 1, 256,
	        "worker threads that query PostgreSQL and Redis; at most half of them for one account"),
	ENV_INT("HTTP_HEAVY_WORKERS", struct config, http_heavy_workers, "4", 1, 256,
	        "worker threads for statistics, searches, exports and bulk requests; at most half of them for one "
	        "account"),
	ENV_INT("HTTP_WORKER_QUEUE", struct config, http_worker_queue, "256", 1, 65536,
	        "requests that may wait for each kind of worker; beyond, the account that waits with most gets 503"),
	ENV_INT("HTTP_WORKER_WAIT_MS", struct config, http_worker_wait_ms, "10000", 100, 600000,
	        "how long a request may wait for a worker; beyond, it gets 503"),
	ENV_INT("HTTP_BODIES_MAX_BYTES", struct config, http_bodies_max_bytes, "50331648", 4194304,
	        68719476736,
	        "memory for request bodies over 32 KiB, all requests together, a quarter of it for one account; "
	        "further ones get 503"),
	ENV_TEXT(
		"CORS_ORIGINS", struct config, cors_origins, "",
		"origins of web pages that may call the API, like https://app.example; empty = none"),
	ENV_TEXT(
		"HEALTH_URLS", struct config, health_urls, "",
		"ops ports of all processes, for GET /api/admin/health: redirector=http://redirector-ops:9090, …; "
		"each address of a name is asked; empty = none"),
	ENV_GROUP("Who may come in"),
	ENV_TEXT(
		"REGISTRATION", struct config, registration, "open",
		"who may make an account: open = anybody, invite = those with an invitation, closed = nobody"),
	ENV_TEXT(
		"REGISTRATION_DOMAINS", struct config, registration_domains, "",
		"mail domains of new accounts: example.com, .example.com (with its subdomains); empty = any"),
	ENV_SWITCH("ANONYMOUS_LINKS", struct config, anonymous_links, "on",
	           "off: links are created by those who have logged in only"),
	ENV_SWITCH("PUBLIC_STATS", struct config, public_stats, "on",
	           "off: GET /api/stats does not tell anybody how many links and visits there are"),
	ENV_GROUP("Accounts"),
	ENV_SECRET(
		"JWT_SECRET", struct config, jwt_secret, NULL, ACCESS_TOKEN_SECRET_BYTES_MIN,
		"keys of access tokens, at least 32 bytes each, separated by commas or newlines: the first signs, "
		"all verify; a new key is added last and moves to the front after each links-api has it"),
	ENV_TEXT(
		"WORKSPACE_CREATION", struct config, workspace_creation, "everyone",
		"who may make further workspaces: everyone, or admins = administrators of this instance"),
	ENV_TEXT(
		"SECOND_FACTOR", struct config, second_factor, "optional",
		"optional, or required: who logs in with a password and has no second factor can only set one up"),
	ENV_TEXT(
		"OIDC_CONFIG", struct config, oidc_config, "",
		"JSON file of the providers of single sign-on (docs/single-sign-on.md); empty = none"),
	ENV_TEXT("OIDC_REQUIRED_CLAIM", struct config, oidc_required_claim, "",
	         "NAME=VALUE that everybody who logs in by a provider must have; empty = none"),
	ENV_SWITCH("PASSWORD_LOGIN", struct config, password_login, "on",
	           "off: only administrators log in with a password"),
	ENV_INT("PASSWORD_THREADS", struct config, password_threads, "2", 1, 64,
	        "threads that hash and check passwords"),
	ENV_INT("PASSWORD_QUEUE", struct config, password_queue, "32", 1, 4096,
	        "passwords that may wait for a thread; further ones get 429. New passwords may fill half of it, others "
	        "three quarters, and each account has one first place; an account that waits with many makes room"),
	ENV_INT("PASSWORD_HASH_COST", struct config, password_hash_cost, PASSWORD_COST_DEFAULT,
	        PASSWORD_COST_MIN, PASSWORD_COST_MAX,
	        "cost of bcrypt for new passwords; each step doubles the time of a login, and values below 10 are for tests only"),
	ENV_GROUP("PostgreSQL"),
	PG_CONN_VARS(struct config, "3000", "a login with the rights of waymark_links_api"),
	ENV_INT("PG_CONNECTIONS", struct config, pg_connections, "10", 2, 1000,
	        "largest number of connections to PostgreSQL"),
	PG_CONN_WAIT_VAR(struct config),
	ENV_INT("PG_HEAVY_CONNECTIONS", struct config, pg_heavy_connections, "4", 1, 1000,
	        "largest number of further connections, for statistics, searches and exports"),
	ENV_INT("PG_HEAVY_STATEMENT_TIMEOUT_MS", struct config, pg_heavy_statement_timeout_ms,
	        "2000", 100, 600000, "timeout of one statement on these connections"),
	ENV_GROUP("Redis"),
	REDIS_URL_VARS(struct config, "100"),
	ENV_INT("REDIS_CONNECTIONS", struct config, redis_connections, "8", 1, 1000,
	        "largest number of connections to Redis"),
	ENV_GROUP("Kafka"),
	KAFKA_CONFIG_VARS(struct config, kafka),
	ENV_INT("OUTBOX_LOW_PRIORITY_PER_SECOND", struct config, outbox_low_priority_per_second,
	        "2000", 1, 1000000,
	        "how many expiries and purges of the janitor are published per second, after all users' changes"),
	ENV_GROUP("Limits"),
	ENV_LIMIT("LINKS_PER_DAY", struct config, links_per_day, "1000", 0, 1000000000,
	          "links per user and 24 hours; 0 = none"),
	ENV_INT("DESTINATION_BYTES_MAX", struct config, destination_bytes_max, "8192", 256,
	        LINK_URL_MAX, "bytes of a destination, after escaping"),
	ENV_LIMIT("REQUESTS_PER_MINUTE", struct config, requests_per_minute, "600", 1, 1000000000,
	          "requests per account and minute, with all its tokens and keys"),
	ENV_LIMIT("BULK_LINKS_PER_MINUTE", struct config, bulk_links_per_minute, "3000", 1,
	          1000000000, "links in bulk requests per account and minute"),
	ENV_LIMIT("IDEMPOTENCY_BYTES_PER_DAY", struct config, idempotency_bytes_per_day, "16777216",
	          1, 1000000000000,
	          "stored responses to requests with an Idempotency-Key per account and 24 hours"),
	ENV_LIMIT("ANONYMOUS_LINKS_PER_HOUR", struct config, anonymous_links_per_hour, "20", 1,
	          1000000000, "anonymous links per network (/24, /48) and hour"),
	ENV_LIMIT("ACCOUNTS_PER_HOUR", struct config, accounts_per_hour, "20", 1, 1000000000,
	          "registrations per network (/24, /48) and hour"),
	ENV_INT("LIVE_STREAMS", struct config, live_streams, "600", 0, 65536,
	        "open streams of visits (GET /api/live), 0 = none; each holds a connection of HTTP_CONNECTIONS, so fewer than these"),
	ENV_INT("LIVE_STREAMS_PER_ACCOUNT", struct config, live_streams_per_account, "8", 1, 65536,
	        "open streams of visits per account"),
	ENV_INT("LIVE_STREAM_S", struct config, live_stream_s, "30", 1, 3600,
	        "seconds until a stream ends and its client connects again, which checks its credentials"),
	ENV_LIMIT("LOGIN_FAILURES", struct config, login_failures, "10", 1, 1000000000,
	          "wrong passwords per account, network (/24, /48) and 15 minutes"),
	ENV_LIMIT(
		"LOGIN_FAILURES_PER_ACCOUNT", struct config, login_failures_per_account, "100", 1,
		1000000000,
		"wrong passwords per account and 15 minutes from networks where it has not logged in lately"),
	ENV_LIMIT(
		"LOGIN_FAILURES_PER_NETWORK", struct config, login_failures_per_network, "100", 1,
		1000000000,
		"wrong passwords per network (/24, /48) and hour, for accounts that have not logged in from it lately"),
	ENV_GROUP("Mail"),
	ENV_TEXT(
		"MAIL_FROM", struct config, mail_from, "",
		"as in the janitor, which sends the mails; empty = no mail, and one-time links are passed on by hand"),
	ENV_CONSTANT_INT(struct config, mails_per_day, "100"),
	ENV_CONSTANT_INT(struct config, mails_to_address_per_day, "10"),
	ENV_GROUP("Slugs and destinations"),
	ENV_TEXT(
		"OWN_HOSTS", struct config, own_hosts, "",
		"more hosts of this service that links may not point at: example.com, .example.com, …"),
	ENV_TEXT("DESTINATION_SCHEMES", struct config, destination_schemes, "",
	         "schemes of apps that destinations may have beside http and https: myapp, tel, …"),
	ENV_TEXT("RESERVED_SLUGS", struct config, reserved_slugs, "",
	         "slugs that users may not choose, in addition to the built-in list"),
	SLUG_CASE_VAR(struct config),
	ENV_INT("SLUG_LENGTH_MAX", struct config, slug_length_max, "64", 1, SLUG_LENGTH_MAX,
	        "characters of a slug that users choose"),
	HOST_GUARD_VARS(struct config),
	ENV_SWITCH(
		"FETCH_TITLES", struct config, fetch_titles, "off",
		"on: who makes a link may have links-api request its destination on the internet for the title"),
	ENV_CONSTANT_INT(struct config, page_titles_per_minute, "30"),
	ENV_GROUP("Traces"),
	TRACER_VARS(struct config, tracing),
	ENV_GROUP("Logging"),
	ENV_LOG_LEVEL(struct config, log_level),
};

static size_t check_public_base_url(const struct config *config, struct strbuf *problems)
{
	struct public_base base;
	const char *reason = NULL;
	bool right = public_base_init(&base, config->public_base_url, &reason) == OK;
	return env_expect(right, "PUBLIC_BASE_URL", reason, problems);
}

static bool is_host(const char *entry)
{
	struct host_policy *own = NULL;
	bool is_valid = public_base_parse_aliases(entry, &own) == OK;
	host_policy_free(own);
	return is_valid;
}

static bool is_slug(const char *entry)
{
	return slug_is_valid(entry, strlen(entry));
}

static bool is_origin(const char *entry)
{
	struct cors cors;
	return cors_init(&cors, entry) == OK;
}

static size_t check_slug_case(const struct config *config, struct strbuf *problems)
{
	return env_expect(slug_case_is_valid(config->slug_case), "SLUG_CASE",
	                  "must be folded or exact", problems);
}

static size_t check_registration(const struct config *config, struct strbuf *problems)
{
	size_t wrong = env_check_one_of(config->registration, "open, invite, closed", false,
	                                "REGISTRATION", problems);
	wrong += env_check_entries(config->registration_domains, is_host, "REGISTRATION_DOMAINS",
	                           "is not a mail domain: write example.com or .example.com",
	                           problems);
	return wrong;
}

static size_t check_lists(const struct config *config, struct strbuf *problems)
{
	size_t wrong = 0;
	wrong += env_check_entries(config->own_hosts, is_host, "OWN_HOSTS",
	                           "is not a host: write example.com or .example.com", problems);
	wrong += env_check_entries(
		config->destination_schemes, app_url_scheme_is_valid, "DESTINATION_SCHEMES",
		"is not the scheme of an app in lower case; http, https and schemes that browsers "
		"run or show themselves are not allowed",
		problems);
	wrong += env_check_entries(config->reserved_slugs, is_slug, "RESERVED_SLUGS",
	                           "is not a slug", problems);
	wrong += env_check_entries(
		config->cors_origins, is_origin, "CORS_ORIGINS",
		"is not an origin in the form browsers send, like https://app.example", problems);
	wrong += env_check_networks(config->trusted_proxies, "TRUSTED_PROXIES", problems);
	wrong += http_server_check_client_ip_header(config->client_ip_header, problems);
	return wrong;
}

/* Streams that take every connection leave none for other requests. */
static size_t check_live_streams(const struct config *config, struct strbuf *problems)
{
	if (config->http_connections == 0 || config->live_streams < config->http_connections)
		return 0;
	strbuf_add_format(problems,
	                  "LIVE_STREAMS: %lld must be less than HTTP_CONNECTIONS, which is %lld\n",
	                  (long long)config->live_streams, (long long)config->http_connections);
	return 1;
}

static size_t check_mail_from(const struct config *config, struct strbuf *problems)
{
	char name[MAIL_ADDRESS_NAME_SIZE], address[MAIL_ADDRESS_SIZE];
	return env_expect(config->mail_from[0] == '\0' ||
	                          mail_address_split(config->mail_from, name, address) == OK,
	                  "MAIL_FROM", "must be an address, or a name and <address>", problems);
}

static size_t check(const void *of_program, struct strbuf *problems)
{
	const struct config *config = of_program;
	size_t wrong = 0;
	wrong += env_expect(http_server_is_address(config->http_address), "HTTP_ADDRESS",
	                    "must be an IPv4 or IPv6 address", problems);
	wrong += env_expect(http_server_is_address(config->ops_address), "OPS_ADDRESS",
	                    "must be an IPv4 or IPv6 address", problems);
	wrong += env_check_other_port(config->ops_port, config->http_port, "OPS_PORT", "HTTP_PORT",
	                              problems);
	wrong += pg_conn_url_check(config->pg_url, problems);
	wrong += redis_url_check(config->redis_url, problems);
	wrong += redis_tls_check(config->redis_url, config->redis_ssl_ca_file, problems);
	wrong += kafka_config_check(&config->kafka, problems);
	wrong += access_token_check_secrets(config->jwt_secret, problems);
	wrong += check_registration(config, problems);
	wrong += oidc_config_check(config->oidc_config, config->oidc_required_claim, problems);
	wrong += check_lists(config, problems);
	wrong += check_slug_case(config, problems);
	wrong += env_check_one_of(config->workspace_creation, "everyone, admins", false,
	                          "WORKSPACE_CREATION", problems);
	wrong += host_guard_check_files(config->blocked_hosts_file, config->allowed_hosts_file,
	                                problems);
	wrong += check_public_base_url(config, problems);
	wrong += health_probe_check(config->health_urls, problems);
	wrong += check_live_streams(config, problems);
	wrong += env_check_one_of(config->second_factor, "optional, required", false,
	                          "SECOND_FACTOR", problems);
	if (config->dashboard_url[0])
		wrong += env_check_http_url(config->dashboard_url, "DASHBOARD_URL", problems);
	wrong += env_expect(utf8_is_valid(config->operator_name, strlen(config->operator_name)),
	                    "OPERATOR_NAME", "must be valid UTF-8", problems);
	wrong += http_logo_check(config->operator_logo_file, problems);
	wrong += check_mail_from(config, problems);
	wrong += tracer_config_check(&config->tracing, problems);
	return wrong;
}

/* At an address of the internet, with https: more than a first look. */
static bool is_public(const char *url)
{
	static const char private_networks[] =
		"10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, "
		"192.168.0.0/16, ::1, fc00::/7, fe80::/10";
	static const char *const private_names[] = { "localhost", "local", "internal", "lan",
		                                     "test" };
	struct public_base base;
	struct client_ip_ranges ranges;
	struct client_ip address;
	const char *reason;
	if (strncmp(url, "https:", 6) != 0 || public_base_init(&base, url, &reason) != OK)
		return false;
	const char *host = base.host.text;
	if (base.host.is_address)
		return client_ip_ranges_parse(private_networks, &ranges) == OK &&
		       client_ip_parse(host, strlen(host), &address) == OK &&
		       !client_ip_ranges_contain(&ranges, &address);
	const char *dot = strrchr(host, '.');
	for (size_t i = 0; dot && i < ARRAY_SIZE(private_names); i++) {
		if (strcmp(dot + 1, private_names[i]) == 0)
			return false;
	}
	return dot != NULL;
}

static void warn(const void *of_program, struct strbuf *warnings)
{
	const struct config *config = of_program;
	if (!is_public(config->public_base_url))
		return;
	if (strcmp(config->registration, "open") == 0)
		strbuf_add_format(
			warnings,
			"REGISTRATION: anybody%s can make an account at this public server; "
			"invite or closed keeps strangers out\n",
			config->registration_domains[0] ? " with an address of these domains" : "");
	if (config->anonymous_links)
		strbuf_add_text(warnings,
		                "ANONYMOUS_LINKS: anybody can create links at this public "
		                "server; off keeps strangers out\n");
}

const struct program config_program = {
	.name = "links-api",
	.summary = "REST API for accounts, links and their statistics",
	.vars = vars,
	.var_count = ARRAY_SIZE(vars),
	.config_size = sizeof(struct config),
	.options = "--create-admin EMAIL [DASHBOARD_URL] | --republish-links | --fold-slugs",
	.options_note =
		"--create-admin and --fold-slugs read PG_URL alone, --republish-links PG_URL "
		"and the variables KAFKA_*.",
	.check = check,
	.warn = warn,
};
