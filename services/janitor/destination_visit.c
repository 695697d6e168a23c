#include "services/janitor/destination_visit.h"

#include <poll.h>
#include <string.h>

#include "lib/links/link_check_store.h"
#include "services/janitor/fetch.h"
#include "services/janitor/global_lookup.h"
#include "services/janitor/host_store.h"
#include "services/janitor/robots.h"

/* What a batch is about. */
struct step {
	const char *host;
	int64_t delay_ms;
	struct host_store_answer *answer;
};

struct visit {
	struct run *run;
	struct destination_visit_pace *pace;
	struct web_address asked[DESTINATION_VISIT_REDIRECTS_MAX + 1];
	size_t count;
	struct destination_visit result;
};

static enum err do_step(struct run *run, struct step *step, run_work work)
{
	int64_t changed = 0;
	return run_batch_with(run, work, step, &changed);
}

static enum err take_turn(const struct run *run, int64_t *changed)
{
	const struct step *step = run->own;
	(void)changed;
	return host_store_take(run->conn, step->host, step->answer);
}

static enum err learn(const struct run *run, int64_t *changed)
{
	const struct step *step = run->own;
	(void)changed;
	return host_store_learn(run->conn, step->host, step->delay_ms);
}

/* Requests begin at least so far apart, the first of a run from the last of the one before, too. */
static void keep_pace(struct visit *v)
{
	int64_t wait_us = v->pace->next_us - clock_steady_us(v->run->clock);
	if (wait_us > 0)
		poll(NULL, 0, (int)(wait_us / CLOCK_US_PER_MS + 1));
	v->pace->next_us = clock_steady_us(v->run->clock) + CLOCK_US_PER_S / v->run->config->destinations_per_s;
}

static enum err request(struct visit *v, const struct web_address *address, bool is_head, struct strbuf *body,
                        struct fetch_answer *out)
{
	const struct fetch_request request = { v->run->config->destination_resolvers, address, is_head, body };
	keep_pace(v);
	return fetch_run(&request, out);
}

/* A host without a readable robots.txt asks for no pause. ERR_NOT_FOUND: it cannot be asked at all. */
static enum err read_robots(struct visit *v, const struct web_address *address, int64_t *delay_ms)
{
	struct web_address robots;
	struct fetch_answer answer;
	struct strbuf body;
	*delay_ms = 0;
	strbuf_init(&body, FETCH_BYTES_MAX);
	enum err err = web_address_at(address, "/robots.txt", &robots);
	if (err == OK)
		err = request(v, &robots, false, &body, &answer);
	if (err == OK && answer.status == 200)
		*delay_ms = robots_delay_ms(body.data, body.len, FETCH_AGENT);
	strbuf_clear(&body);
	return err == ERR_NOT_FOUND ? err : OK;
}

/* UNKNOWN remains of a host that cannot be asked: there is nothing to remember of it. */
static enum err await_turn(struct visit *v, const struct web_address *address, struct host_store_answer *out)
{
	struct step step = { .host = address->host, .answer = out };
	enum err err = do_step(v->run, &step, take_turn);
	if (err != OK || out->turn != HOST_TURN_UNKNOWN)
		return err;
	if (read_robots(v, address, &step.delay_ms) != OK)
		return OK;
	err = do_step(v->run, &step, learn);
	if (err == OK)
		err = do_step(v->run, &step, take_turn);
	return err;
}

static bool has_asked(const struct visit *v, const char *host)
{
	for (size_t i = 0; i < v->count; i++) {
		if (strcmp(v->asked[i].host, host) == 0)
			return true;
	}
	return false;
}

static void end(struct visit *v, int status)
{
	v->result = (struct destination_visit){ .is_over = true, .status = status };
}

/* A host that wants pauses is asked once per turn, so at once in the way that always tells. */
static enum err ask(struct visit *v, const struct web_address *address, bool wants_pauses, struct fetch_answer *out)
{
	enum err err = ERR_UNAVAILABLE;
	if (!wants_pauses) {
		err = request(v, address, true, NULL, out);
		bool is_refused = (err == OK && out->status >= 400) || err == ERR_UNAVAILABLE;
		if (!is_refused)
			return err;
	}
	return request(v, address, false, NULL, out);
}

static bool is_redirect(const struct fetch_answer *answer)
{
	int status = answer->status;
	return answer->location[0] != '\0' &&
	       (status == 301 || status == 302 || status == 303 || status == 307 || status == 308);
}

/* True: on to *next. */
static bool follow(struct visit *v, const struct fetch_answer *answer, struct web_address *next)
{
	end(v, answer->status);
	if (!is_redirect(answer) || v->count > DESTINATION_VISIT_REDIRECTS_MAX)
		return false;
	enum err err = web_address_parse(answer->location, next);
	if (err == ERR_INVALID)
		end(v, LINK_CHECK_NO_ANSWER);
	return err == OK;
}

/* One host; true in *goes_on: the next is *address. */
static enum err visit_host(struct visit *v, struct web_address *address, bool *goes_on)
{
	struct host_store_answer turn = { 0 };
	struct fetch_answer answer = { 0 };
	*goes_on = false;
	if (global_lookup_refuses(address->host)) {
		end(v, LINK_CHECK_NO_ANSWER);
		return OK;
	}
	enum err err = await_turn(v, address, &turn);
	if (err != OK)
		return err;
	if (turn.turn == HOST_TURN_UNKNOWN) {
		end(v, LINK_CHECK_NO_ANSWER);
		return OK;
	}
	if (turn.turn == HOST_TURN_WAIT) {
		/* A host that sent us to itself has answered; another one may be asked later. */
		if (!has_asked(v, address->host))
			v->result = (struct destination_visit){ .wait_ms = turn.wait_ms };
		return OK;
	}
	v->asked[v->count++] = *address;
	if (ask(v, address, turn.delay_ms > 0, &answer) == OK)
		*goes_on = follow(v, &answer, address);
	else
		end(v, LINK_CHECK_NO_ANSWER);
	return OK;
}

enum err destination_visit_run(struct run *run, struct destination_visit_pace *pace, const char *url,
                               struct destination_visit *out)
{
	struct visit v = { .run = run, .pace = pace };
	struct web_address address;
	enum err err = web_address_parse(url, &address);
	bool goes_on = err == OK;
	end(&v, err == ERR_LIMIT ? LINK_CHECK_NOT_ASKED : LINK_CHECK_NO_ANSWER);
	err = OK;
	while (err == OK && goes_on && !shutdown_requested(run->shutdown))
		err = visit_host(&v, &address, &goes_on);
	if (goes_on) /* interrupted */
		v.result = (struct destination_visit){ 0 };
	if (err == OK)
		*out = v.result;
	return err;
}
