#include "services/janitor/destinations/destinations.h"

#include <assert.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/fetch/fetch.h"
#include "lib/fetch/global_resolver.h"
#include "lib/links/link_check_store.h"
#include "services/janitor/destinations/robots.h"
#include "services/janitor/mail/mail_reports.h"

/* A run claims no more links after this time; the next run continues. */
#define RUN_US (30 * CLOCK_US_PER_S)
#define LINKS_PER_CLAIM 10
/* Longer than their checks take. A link whose check crashed the janitor is not claimed before. */
#define LEASE_S 600
#define STALE_HOSTS_MAX 1000
#define REDIRECTS_MAX 3
#define REQUEST_TIMEOUT_MS 3000

static_assert(FETCH_URL_MAX >= LINK_URL_MAX, "every destination can be requested");

/* The context of every batch. */
struct checker {
	struct run *run;
	int64_t *changed;
	/* Steady; the earliest time of the next request, whatever its host. */
	int64_t next_request_us;
	struct link_check_due due[LINKS_PER_CLAIM];
	size_t due_count;

	/* The link being checked. */
	const struct link_check_due *link;
	/* False: check again after wait_ms. */
	bool is_complete;
	/* As in link_check_store.h; of the last host that was requested. */
	int status;
	int64_t wait_ms;

	/* What is requested next, and the hosts that were. */
	struct fetch_url url;
	char hosts[REDIRECTS_MAX + 1][FETCH_HOST_SIZE];
	size_t host_count;
	struct host_reservation reservation;
	int64_t crawl_delay_ms;
};

static enum err run_in_batch(struct checker *c, run_work work)
{
	c->run->ctx = c;
	return run_batch(c->run, work, c->changed);
}

/* --- the policy --- */

bool destinations_is_dead(int status)
{
	switch (status) {
	case LINK_CHECK_NO_ANSWER:
		return true;
	case 401:
	case 403:
	case 405:
	case 406:
	case 407:
	case 429:
	case 451:
	case 999:
		return false;
	default:
		return status >= 400;
	}
}

int64_t destinations_next_s(int64_t recheck_s, int64_t retry_s, int64_t failures, int64_t link_id)
{
	int64_t next_s = recheck_s;
	if (failures > 0) {
		next_s = retry_s;
		for (int64_t i = 1; i < failures && next_s < DESTINATIONS_RETRY_S_MAX; i++)
			next_s *= 2;
		if (next_s > DESTINATIONS_RETRY_S_MAX)
			next_s = DESTINATIONS_RETRY_S_MAX;
	}
	/* Multiplicative hash: neighbouring ids get very different delays. */
	uint64_t mixed = (uint64_t)link_id * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	return next_s + (int64_t)(mixed % (uint64_t)(next_s / 10 + 1));
}

/* --- batches --- */

static enum err delete_stale_hosts(const struct run *run, int64_t *changed)
{
	(void)changed;
	return destinations_host_delete_stale(run->conn, STALE_HOSTS_MAX);
}

static enum err claim(const struct run *run, int64_t *changed)
{
	struct checker *c = run->ctx;
	(void)changed;
	return link_check_store_claim(run->conn, LINKS_PER_CLAIM, LEASE_S, c->due, &c->due_count);
}

static enum err reserve(const struct run *run, int64_t *changed)
{
	struct checker *c = run->ctx;
	(void)changed;
	return destinations_host_reserve(run->conn, c->url.host, &c->reservation);
}

static enum err save_robots(const struct run *run, int64_t *changed)
{
	const struct checker *c = run->ctx;
	(void)changed;
	return destinations_host_save_robots(run->conn, c->url.host, c->crawl_delay_ms);
}

static enum err store_result(const struct run *run, int64_t *changed)
{
	const struct checker *c = run->ctx;
	const struct link_check_due *link = c->link;
	if (!c->is_complete)
		return link_check_store_postpone(run->conn, link, c->wait_ms);
	int64_t failures = 0;
	if (destinations_is_dead(c->status))
		failures = link->failures < DESTINATIONS_FAILURES_MAX ? link->failures + 1
		                                                      : link->failures;
	*changed = 1;
	enum err err = link_check_store_write(
		run->conn, link, c->status, failures,
		destinations_next_s(run->config->destination_recheck_s,
	                            run->config->destination_retry_s, failures, link->link_id));
	if (err == OK && failures == MAIL_REPORTS_DEAD_AFTER && run->config->smtp_url[0] != '\0')
		err = mail_reports_note_dead(run->conn, link->link_id);
	return err;
}

/* --- one request --- */

/* Waits for its turn among all requests: a run's first one follows the last one of the run before. */
static enum err request(struct checker *c, const struct fetch_url *url, bool is_head,
                        struct strbuf *body, struct fetch_response *out)
{
	const struct config *config = c->run->config;
	const struct fetch_request request = {
		.resolvers = config->destination_resolvers,
		.url = url,
		.purpose = "checks the destinations of links",
		.timeout_ms = REQUEST_TIMEOUT_MS,
		.is_head = is_head,
		.body = body,
	};
	int64_t wait_us = c->next_request_us - clock_steady_us(c->run->clock);
	if (wait_us > 0)
		poll(NULL, 0, (int)(wait_us / CLOCK_US_PER_MS + 1));
	c->next_request_us =
		clock_steady_us(c->run->clock) + CLOCK_US_PER_S / config->destinations_per_s;
	return fetch_run(&request, out);
}

/* Without a readable robots.txt there is no delay. ERR_NOT_FOUND: do not request the host. */
static enum err read_robots(struct checker *c)
{
	struct fetch_url robots;
	struct fetch_response response;
	struct strbuf body;
	c->crawl_delay_ms = 0;
	strbuf_init(&body, FETCH_BYTES_MAX);
	fetch_url_with_path(&c->url, "/robots.txt", &robots);
	enum err err = request(c, &robots, false, &body, &response);
	if (err == OK && response.status == 200)
		c->crawl_delay_ms = robots_delay_ms(body.data, body.len, FETCH_AGENT);
	strbuf_clear(&body);
	return err == ERR_NOT_FOUND ? err : OK;
}

/* The reservation stays UNKNOWN for a host that must not be requested; nothing is stored about it. */
static enum err reserve_host(struct checker *c)
{
	enum err err = run_in_batch(c, reserve);
	if (err != OK || c->reservation.status != HOST_UNKNOWN || read_robots(c) != OK)
		return err;
	err = run_in_batch(c, save_robots);
	return err == OK ? run_in_batch(c, reserve) : err;
}

/* A host with a crawl delay gets one request per reservation: GET, which all servers support. */
static enum err request_page(struct checker *c, struct fetch_response *out)
{
	if (c->reservation.delay_ms == 0) {
		enum err err = request(c, &c->url, true, NULL, out);
		bool has_failed = (err == OK && out->status >= 400) || err == ERR_UNAVAILABLE;
		if (!has_failed)
			return err;
	}
	return request(c, &c->url, false, NULL, out);
}

/* --- one link --- */

static void complete(struct checker *c, int status)
{
	c->is_complete = true;
	c->status = status;
}

static bool was_requested(const struct checker *c)
{
	for (size_t i = 0; i < c->host_count; i++) {
		if (strcmp(c->hosts[i], c->url.host) == 0)
			return true;
	}
	return false;
}

/* True: the response leads to another URL, which is c->url then. */
static bool take_response(struct checker *c, const struct fetch_response *response)
{
	complete(c, response->status);
	if (response->location[0] == '\0' || c->host_count > REDIRECTS_MAX)
		return false;
	enum err err = fetch_url_parse(response->location, &c->url);
	if (err == ERR_INVALID)
		complete(c, LINK_CHECK_NO_ANSWER);
	return err == OK;
}

/* *is_redirected: continue with c->url. */
static enum err check_host(struct checker *c, bool *is_redirected)
{
	struct fetch_response response = { 0 };
	enum err err = OK;
	*is_redirected = false;
	c->reservation = (struct host_reservation){ .status = HOST_UNKNOWN };
	if (!global_resolver_is_private_literal(c->url.host))
		err = reserve_host(c);
	if (err != OK)
		return err;
	if (c->reservation.status == HOST_WAIT) {
		/* A host that redirected to itself has answered. Another one is tried later. */
		if (!was_requested(c)) {
			c->is_complete = false;
			c->wait_ms = c->reservation.wait_ms;
		}
		return OK;
	}
	if (c->reservation.status == HOST_RESERVED) {
		memcpy(c->hosts[c->host_count++], c->url.host, FETCH_HOST_SIZE);
		if (request_page(c, &response) == OK) {
			*is_redirected = take_response(c, &response);
			return OK;
		}
	}
	complete(c, LINK_CHECK_NO_ANSWER);
	return OK;
}

/* A link whose check a shutdown interrupted is postponed by 0 ms. */
static enum err check_link(struct checker *c, const struct link_check_due *link)
{
	c->link = link;
	c->host_count = 0;
	c->wait_ms = 0;
	enum err err = fetch_url_parse(link->url, &c->url);
	bool has_next = err == OK;
	/* Apps answer nobody. */
	bool is_of_app =
		strncmp(link->url, "http://", 7) != 0 && strncmp(link->url, "https://", 8) != 0;
	complete(c, err == ERR_LIMIT || is_of_app ? LINK_CHECK_NEVER : LINK_CHECK_NO_ANSWER);
	err = OK;
	while (err == OK && has_next && !shutdown_requested(c->run->shutdown))
		err = check_host(c, &has_next);
	if (has_next)
		c->is_complete = false;
	return err == OK ? run_in_batch(c, store_result) : err;
}

/* --- one run --- */

static enum err check_due(struct checker *c)
{
	struct run *run = c->run;
	const int64_t started_us = clock_steady_us(run->clock);
	enum err err;
	c->next_request_us = started_us + CLOCK_US_PER_S / run->config->destinations_per_s;
	do {
		c->due_count = 0;
		err = run_in_batch(c, claim);
		for (size_t i = 0; err == OK && i < c->due_count; i++)
			err = check_link(c, &c->due[i]);
		if (shutdown_requested(run->shutdown)) {
			run->is_interrupted = true;
			return err;
		}
	} while (err == OK && c->due_count == LINKS_PER_CLAIM &&
	         clock_steady_us(run->clock) - started_us < RUN_US);
	return err;
}

enum err destinations_run(struct run *run, int64_t *changed)
{
	struct checker *c = mem_zero(sizeof(*c));
	c->run = run;
	c->changed = changed;
	fetch_start();
	enum err err = run_in_batch(c, delete_stale_hosts);
	if (err == OK)
		err = check_due(c);
	fetch_end();
	free(c);
	return err;
}

/* --- when a host may be requested --- */

static enum err reserve_now(struct pg_conn *conn, const char *host, int64_t *delay_ms)
{
	struct pg_params params = { 0 };
	pg_params_text(&params, host);
	pg_params_int(&params, HOST_ROBOTS_S);
	return pg_conn_query_int(
		conn,
		"UPDATE destination_hosts SET free_at = clock_timestamp() + crawl_delay_ms * interval '1 ms' "
		"WHERE host = $1 AND free_at <= clock_timestamp() "
		"AND robots_read_at > clock_timestamp() - $2::bigint * interval '1 second' RETURNING crawl_delay_ms",
		&params, delay_ms);
}

/* Each caller gets a time of its own, so that a host's links do not all come back at once. */
static enum err enqueue(struct pg_conn *conn, const char *host, int64_t *wait_ms)
{
	struct pg_params params = { 0 };
	pg_params_text(&params, host);
	pg_params_int(&params, HOST_SLACK_MS);
	return pg_conn_query_int(
		conn,
		"UPDATE destination_hosts SET queue_until = greatest(queue_until, free_at) + "
		"(crawl_delay_ms + $2::bigint) * interval '1 ms' "
		"WHERE host = $1 AND free_at > clock_timestamp() RETURNING greatest(0, ceil(1000 * extract(epoch FROM "
		"queue_until - clock_timestamp())) - crawl_delay_ms - $2::bigint)::bigint",
		&params, wait_ms);
}

enum err destinations_host_reserve(struct pg_conn *conn, const char *host,
                                   struct host_reservation *out)
{
	struct host_reservation reservation = { .status = HOST_RESERVED };
	enum err err = reserve_now(conn, host, &reservation.delay_ms);
	if (err == ERR_NOT_FOUND) {
		reservation.status = HOST_WAIT;
		err = enqueue(conn, host, &reservation.wait_ms);
	}
	if (err == ERR_NOT_FOUND) {
		reservation.status = HOST_UNKNOWN;
		err = OK;
	}
	if (err == OK)
		*out = reservation;
	return err;
}

enum err destinations_host_save_robots(struct pg_conn *conn, const char *host, int64_t delay_ms)
{
	struct pg_params params = { 0 };
	pg_params_text(&params, host);
	pg_params_int(&params, delay_ms);
	return pg_conn_query(
		conn,
		"INSERT INTO destination_hosts (host, crawl_delay_ms, free_at, queue_until) "
		"SELECT $1, $2::bigint, free_at, free_at "
		"FROM (SELECT clock_timestamp() + $2::bigint * interval '1 ms' AS free_at) AS next "
		"ON CONFLICT (host) DO UPDATE SET crawl_delay_ms = EXCLUDED.crawl_delay_ms, "
		"robots_read_at = clock_timestamp(), free_at = EXCLUDED.free_at, "
		"queue_until = greatest(destination_hosts.queue_until, EXCLUDED.queue_until)",
		&params, NULL);
}

enum err destinations_host_delete_stale(struct pg_conn *conn, int64_t limit)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, limit);
	return pg_conn_query(
		conn,
		"DELETE FROM destination_hosts WHERE host IN (SELECT host FROM destination_hosts "
		"WHERE robots_read_at < clock_timestamp() - interval '2 days' "
		"AND free_at < clock_timestamp() LIMIT $1)",
		&params, NULL);
}
