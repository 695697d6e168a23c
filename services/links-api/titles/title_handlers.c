#include "services/links-api/titles/title_handlers.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/fetch/fetch.h"
#include "services/links-api/destinations/destination_check.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/response.h"
#include "services/links-api/titles/page_title.h"

#define THREADS 4
#define WAITING_MAX 8
#define REDIRECTS_MAX 3
/* All redirects together, and the time in the queue. Somebody waits at a form. */
#define TIMEOUT_MS 5000
#define BUSY_RETRY_S 2

static_assert(FETCH_URL_MAX >= LINK_URL_MAX, "every destination can be requested");

struct title_job {
	struct request *request;
	/* A URL that links may lead to; owned. */
	char *url;
	/* Steady. */
	int64_t deadline_us;
	struct fetch_response response;
	struct strbuf body;
};

struct worker_pool *title_handlers_start(void)
{
	fetch_start();
	return worker_pool_new_fair("titles", THREADS, WAITING_MAX, THREADS / 2);
}

void title_handlers_stop(struct worker_pool *workers)
{
	if (!workers)
		return;
	worker_pool_free(workers);
	fetch_end();
}

static void finish(struct title_job *job)
{
	struct http_exchange *x = job->request->exchange;
	strbuf_clear(&job->body);
	free(job->url);
	free(job);
	http_exchange_resume(x);
}

/* --- the page --- */

static enum err request_page(struct title_job *job)
{
	struct fetch_url url;
	const struct fetch_request request = {
		.resolvers = "",
		.url = &url,
		.purpose = "reads the titles of pages",
		.timeout_ms = (job->deadline_us - clock_steady_us(job->request->api->clock)) /
		              CLOCK_US_PER_MS,
		.body = &job->body,
	};
	strbuf_reset(&job->body);
	if (request.timeout_ms <= 0 || fetch_url_parse(job->url, &url) != OK)
		return ERR_UNAVAILABLE;
	return fetch_run(&request, &job->response);
}

/* False: it leads nowhere a link may lead to. */
static bool follow(struct title_job *job)
{
	struct http_problem_fields wrong = { 0 };
	free(job->url);
	job->url = destination_check_text(job->request->api->base, job->response.location, "",
	                                  false, &wrong);
	return job->url;
}

/* ERR_NOT_FOUND: the page has no title. ERR_UNAVAILABLE: there is no such page, or not for us. */
static enum err read_title(struct title_job *job, char title[static LINK_TITLE_SIZE])
{
	for (size_t redirects = 0; redirects <= REDIRECTS_MAX; redirects++) {
		if (request_page(job) != OK)
			return ERR_UNAVAILABLE;
		if (!job->response.location[0])
			return job->response.status == 200
			               ? page_title_read(job->response.type, job->body.data,
			                                 job->body.len, title)
			               : ERR_UNAVAILABLE;
		if (!follow(job))
			return ERR_UNAVAILABLE;
	}
	return ERR_UNAVAILABLE;
}

static void run_job(void *state)
{
	struct title_job *job = state;
	char title[LINK_TITLE_SIZE];
	enum err err = read_title(job, title);
	if (err == ERR_UNAVAILABLE) {
		response_problem(job->request, 404, "page-not-found",
		                 "No public page answers at this URL.");
	} else {
		struct json *json = json_new_object();
		json_set_text(json, "title", err == OK ? title : NULL);
		response_json(job->request, 200, json);
	}
	finish(job);
}

/* --- the request --- */

static void send_busy(struct request *r)
{
	response_add_retry_after(r, BUSY_RETRY_S);
	response_problem(r, 429, "busy", "Too many pages are being read. Please retry.");
}

static void reject_job(void *state)
{
	struct title_job *job = state;
	send_busy(job->request);
	finish(job);
}

/* Takes url. */
static enum http_progress submit(struct request *r, char *url)
{
	struct title_job *job = mem_zero(sizeof(*job));
	job->request = r;
	job->url = url;
	job->deadline_us = clock_steady_us(r->api->clock) + TIMEOUT_MS * CLOCK_US_PER_MS;
	strbuf_init(&job->body, FETCH_BYTES_MAX);
	if (worker_pool_submit_for(r->api->title_workers, request_flow(r, r->user_id), run_job,
	                           reject_job, job) != OK)
		reject_job(job);
	return HTTP_PENDING;
}

/* False: the response is complete. */
static bool count(struct request *r)
{
	const struct rate_limit_rule rule = rate_limit_rule_of(r->api->config, LIMITS_PAGE_TITLES);
	char subject[RATE_LIMIT_SUBJECT_MAX + 1];
	struct rate_limit_state state;
	snprintf(subject, sizeof(subject), "%" PRId64, r->user_id);
	enum err err = rate_limit_take(r->api->limits, &rule, subject, 1, &state);
	if (err == ERR_LIMIT)
		response_rate_limited(r, &rule, state.reset_s);
	else if (err != OK)
		response_failure(r, err);
	return err == OK;
}

enum http_progress title_handlers_read(void *ctx, struct http_exchange *x)
{
	(void)x;
	static const char *const names[] = { "url" };
	struct request *r = ctx;
	struct http_problem_fields wrong = { 0 };
	struct json *body = request_body_read(r);
	if (!body)
		return HTTP_COMPLETE;
	char *url = NULL;
	member_reject_unknown(body, names, ARRAY_SIZE(names), &wrong);
	if (member_text_of(body, "url", true, &wrong))
		url = destination_check(r->api->base, json_get(body, "url"), "/url", false, &wrong);
	json_free(body);
	if (wrong.count > 0)
		response_invalid_fields(r, &wrong);
	else if (!r->api->title_workers)
		response_problem(r, 403, "page-titles-off",
		                 "This server does not request pages for their titles.");
	else if (count(r))
		return submit(r, url);
	free(url);
	return HTTP_COMPLETE;
}
