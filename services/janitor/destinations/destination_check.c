#include "services/janitor/destinations/destination_check.h"

#include <poll.h>
#include <string.h>

#include "lib/links/link_check_store.h"
#include "services/janitor/destinations/fetch.h"
#include "services/janitor/destinations/global_resolver.h"
#include "services/janitor/destinations/host_store.h"
#include "services/janitor/destinations/robots.h"

/* The context of a batch on one host. */
struct host_batch {
	const char *host;
	int64_t delay_ms;
	struct host_store_reservation *reservation;
};

struct check {
	struct run *run;
	struct destination_check_pacer *pacer;
	struct fetch_url requested[DESTINATION_CHECK_REDIRECTS_MAX + 1];
	size_t count;
	struct destination_check result;
};

static enum err run_host_batch(struct run *run, struct host_batch *batch, run_work work)
{
	int64_t changed = 0;
	return run_batch_with_ctx(run, work, batch, &changed);
}

static enum err reserve(const struct run *run, int64_t *changed)
{
	const struct host_batch *batch = run->ctx;
	(void)changed;
	return host_store_reserve(run->conn, batch->host, batch->reservation);
}

static enum err save_robots(const struct run *run, int64_t *changed)
{
	const struct host_batch *batch = run->ctx;
	(void)changed;
	return host_store_save_robots(run->conn, batch->host, batch->delay_ms);
}

/* Also spaces the first request of a run from the last request of the previous one. */
static void await_pacer(struct check *c)
{
	int64_t wait_us = c->pacer->next_us - clock_steady_us(c->run->clock);
	if (wait_us > 0)
		poll(NULL, 0, (int)(wait_us / CLOCK_US_PER_MS + 1));
	c->pacer->next_us = clock_steady_us(c->run->clock) +
	                    CLOCK_US_PER_S / c->run->config->destinations_per_s;
}

static enum err request(struct check *c, const struct fetch_url *url, bool is_head,
                        struct strbuf *body, struct fetch_response *out)
{
	const struct fetch_request request = { c->run->config->destination_resolvers, url, is_head,
		                               body };
	await_pacer(c);
	return fetch_run(&request, out);
}

/* Without a readable robots.txt there is no delay. ERR_NOT_FOUND: do not request the host. */
static enum err read_robots(struct check *c, const struct fetch_url *url, int64_t *delay_ms)
{
	struct fetch_url robots;
	struct fetch_response response;
	struct strbuf body;
	*delay_ms = 0;
	strbuf_init(&body, FETCH_BYTES_MAX);
	enum err err = fetch_url_with_path(url, "/robots.txt", &robots);
	if (err == OK)
		err = request(c, &robots, false, &body, &response);
	if (err == OK && response.status == 200)
		*delay_ms = robots_delay_ms(body.data, body.len, FETCH_AGENT);
	strbuf_clear(&body);
	return err == ERR_NOT_FOUND ? err : OK;
}

/* The status stays UNKNOWN for a host that must not be requested; nothing is stored about it. */
static enum err reserve_host(struct check *c, const struct fetch_url *url,
                             struct host_store_reservation *out)
{
	struct host_batch batch = { .host = url->host, .reservation = out };
	enum err err = run_host_batch(c->run, &batch, reserve);
	if (err != OK || out->status != HOST_STORE_UNKNOWN)
		return err;
	if (read_robots(c, url, &batch.delay_ms) != OK)
		return OK;
	err = run_host_batch(c->run, &batch, save_robots);
	if (err == OK)
		err = run_host_batch(c->run, &batch, reserve);
	return err;
}

static bool was_requested(const struct check *c, const char *host)
{
	for (size_t i = 0; i < c->count; i++) {
		if (strcmp(c->requested[i].host, host) == 0)
			return true;
	}
	return false;
}

static void complete(struct check *c, int status)
{
	c->result = (struct destination_check){ .is_complete = true, .status = status };
}

/* A host with a crawl delay gets one request per reservation: GET, which all servers support. */
static enum err request_page(struct check *c, const struct fetch_url *url, bool has_crawl_delay,
                             struct fetch_response *out)
{
	if (!has_crawl_delay) {
		enum err err = request(c, url, true, NULL, out);
		bool has_failed = (err == OK && out->status >= 400) || err == ERR_UNAVAILABLE;
		if (!has_failed)
			return err;
	}
	return request(c, url, false, NULL, out);
}

static bool is_redirect(const struct fetch_response *response)
{
	int status = response->status;
	return response->location[0] != '\0' &&
	       (status == 301 || status == 302 || status == 303 || status == 307 || status == 308);
}

/* True: continue with *next. */
static bool follow_redirect(struct check *c, const struct fetch_response *response,
                            struct fetch_url *next)
{
	complete(c, response->status);
	if (!is_redirect(response) || c->count > DESTINATION_CHECK_REDIRECTS_MAX)
		return false;
	enum err err = fetch_url_parse(response->location, next);
	if (err == ERR_INVALID)
		complete(c, LINK_CHECK_NO_ANSWER);
	return err == OK;
}

/* Checks one host. *is_redirected: continue with *url, which is then the redirect's target. */
static enum err check_host(struct check *c, struct fetch_url *url, bool *is_redirected)
{
	struct host_store_reservation reservation = { 0 };
	struct fetch_response response = { 0 };
	*is_redirected = false;
	if (global_resolver_is_private_literal(url->host)) {
		complete(c, LINK_CHECK_NO_ANSWER);
		return OK;
	}
	enum err err = reserve_host(c, url, &reservation);
	if (err != OK)
		return err;
	if (reservation.status == HOST_STORE_UNKNOWN) {
		complete(c, LINK_CHECK_NO_ANSWER);
		return OK;
	}
	if (reservation.status == HOST_STORE_WAIT) {
		/* A host that redirected to itself has answered. Another one is tried later. */
		if (!was_requested(c, url->host))
			c->result = (struct destination_check){ .wait_ms = reservation.wait_ms };
		return OK;
	}
	c->requested[c->count++] = *url;
	if (request_page(c, url, reservation.delay_ms > 0, &response) == OK)
		*is_redirected = follow_redirect(c, &response, url);
	else
		complete(c, LINK_CHECK_NO_ANSWER);
	return OK;
}

enum err destination_check_run(struct run *run, struct destination_check_pacer *pacer,
                               const char *url, struct destination_check *out)
{
	struct check c = { .run = run, .pacer = pacer };
	struct fetch_url next;
	enum err err = fetch_url_parse(url, &next);
	bool has_next = err == OK;
	complete(&c, err == ERR_LIMIT ? LINK_CHECK_NEVER : LINK_CHECK_NO_ANSWER);
	err = OK;
	while (err == OK && has_next && !shutdown_requested(run->shutdown))
		err = check_host(&c, &next, &has_next);
	if (has_next) /* interrupted */
		c.result = (struct destination_check){ 0 };
	if (err == OK)
		*out = c.result;
	return err;
}
