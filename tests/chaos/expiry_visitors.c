/*
 * Visitors of links that expire one after the other, for test_expiry.py. Link i (slug expiring-i)
 * expires at --first-us plus i times --every-us. Requests come at a steady rate, most of them
 * around the expiry of a link or the end of its window. Each answer is judged by when its request
 * began and ended, on the wall clock:
 *
 *   denied early      404, and it was there before the end of the window
 *   redirected late   3xx, and the request began 100 ms after the expiry or later
 *   gone early        410, and it was there before the expiry
 *   came back         not 404, and the request began after the same redirector's 404 was there
 *   unavailable       503: the stores did not answer in time
 *   unanswered        anything else, or no answer
 *
 * The program ends after --requests, or when its standard input ends, and prints one line of JSON.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/entropy.h"
#include "lib/base/mem.h"
#include "tests/chaos/visitor.h"

#define PORTS_MAX 4
#define EVENTS_MAX 128
#define RECONNECT_US (25 * CLOCK_US_PER_MS)
#define TICK_US (5 * CLOCK_US_PER_MS)
#define ANSWER_TIMEOUT_US (60 * CLOCK_US_PER_S)
#define REDIRECT_BOUND_US (100 * CLOCK_US_PER_MS)
#define BORDER_US (30 * CLOCK_US_PER_MS)
#define SOONEST_US                                                                                 \
	(CLOCK_US_PER_S / 2) /* longest time before its expiry that a link is requested */

struct options {
	uint16_t ports[PORTS_MAX];
	size_t port_count;
	/* To each of them. */
	size_t connections;
	int64_t first_us;
	int64_t every_us;
	int64_t links;
	int64_t window_us;
	/* Longest time after its window that a link is requested. */
	int64_t after_us;
	int64_t requests;
	double rate;
};

struct question {
	int64_t link;
	int64_t began_us;
};

struct load {
	struct options options;
	int epoll;
	struct visitor *visitors;
	/* One per visitor. */
	struct question *questions;
	size_t count;
	size_t cursor;
	/* Per port and link, when its first 404 was there; 0 = not yet. */
	int64_t *denied_us;
	/* Wall clock. */
	int64_t now_us;
	int64_t due_us;
	int64_t asked;
	int64_t answered;
	int64_t redirected, gone, denied;
	int64_t denied_early, redirected_late, gone_early, came_back, unavailable, unanswered;
	int64_t longest_us;
	bool is_over;
};

static int64_t expires_us(const struct load *c, int64_t link)
{
	return c->options.first_us + link * c->options.every_us;
}

static size_t port_of(const struct load *c, const struct visitor *v)
{
	return (size_t)(v - c->visitors) % c->options.port_count;
}

/* --- judging --- */

static void judge_denial(struct load *c, const struct question *q, int64_t *denied_us)
{
	c->denied++;
	c->denied_early += c->now_us < expires_us(c, q->link) + c->options.window_us;
	if (*denied_us == 0)
		*denied_us = c->now_us;
}

static void judge_other(struct load *c, const struct question *q, unsigned status,
                        int64_t denied_us)
{
	bool is_redirect = status == 302;
	c->came_back += denied_us != 0 && q->began_us > denied_us;
	c->redirected += is_redirect;
	c->redirected_late +=
		is_redirect && q->began_us > expires_us(c, q->link) + REDIRECT_BOUND_US;
	c->gone += !is_redirect;
	c->gone_early += !is_redirect && c->now_us < expires_us(c, q->link);
}

/* status is 0 without an answer. */
static void judge(struct load *c, const struct visitor *v, unsigned status)
{
	const struct question *q = &c->questions[v - c->visitors];
	int64_t *denied_us = &c->denied_us[(int64_t)port_of(c, v) * c->options.links + q->link];
	int64_t took_us = c->now_us - q->began_us;
	c->answered++;
	c->longest_us = took_us > c->longest_us ? took_us : c->longest_us;
	if (status == 404)
		judge_denial(c, q, denied_us);
	else if (status == 302 || status == 410)
		judge_other(c, q, status, *denied_us);
	else if (status == 503)
		c->unavailable++;
	else
		c->unanswered++;
}

/* --- asking --- */

static int64_t within(int64_t from_us, int64_t to_us)
{
	return from_us + (int64_t)entropy_below((uint64_t)(to_us - from_us + 1));
}

/* Draws how long ago the next requested link expired: near one of the two borders, or anywhere. */
static int64_t draw_age_us(const struct load *c)
{
	int64_t window_us = c->options.window_us;
	switch (entropy_below(3)) {
	case 0:
		return within(-BORDER_US, BORDER_US);
	case 1:
		return within(window_us - BORDER_US, window_us + BORDER_US);
	default:
		return within(-SOONEST_US, window_us + c->options.after_us);
	}
}

static int64_t draw_link(const struct load *c)
{
	int64_t link = (c->now_us - draw_age_us(c) - c->options.first_us) / c->options.every_us;
	if (link < 0)
		return 0;
	return link < c->options.links ? link : c->options.links - 1;
}

static struct visitor *next_idle(struct load *c)
{
	for (size_t i = 0; i < c->count; i++) {
		struct visitor *v = &c->visitors[c->cursor++ % c->count];
		if (v->state == VISITOR_IDLE)
			return v;
	}
	return NULL;
}

static void read_clock(struct load *c)
{
	c->now_us = clock_now_us(clock_system());
}

static void ask_what_is_due(struct load *c)
{
	struct visitor *v;
	while (c->asked < c->options.requests && c->due_us <= c->now_us &&
	       (v = next_idle(c)) != NULL) {
		char slug[64];
		struct question *q = &c->questions[v - c->visitors];
		read_clock(c);
		*q = (struct question){ draw_link(c), c->now_us };
		snprintf(slug, sizeof(slug), "expiring-%" PRId64, q->link);
		visitor_ask(v, slug, "expiry", (uint64_t)c->asked++, c->now_us, c->now_us);
		c->due_us += (int64_t)(CLOCK_US_PER_S / c->options.rate);
	}
	/* Requests that were held up do not come all at once later. */
	if (c->due_us < c->now_us - TICK_US)
		c->due_us = c->now_us - TICK_US;
}

/* --- the connections --- */

static void update(struct load *c, struct visitor *v)
{
	bool was_waiting = v->state == VISITOR_WAITING;
	enum visitor_event event = visitor_update(v, c->now_us);
	read_clock(c); /* the answer may be younger than the event */
	if (event != VISITOR_NOTHING && was_waiting)
		judge(c, v, event == VISITOR_ANSWERED ? v->status : 0);
}

static void read_input(struct load *c)
{
	char line[64];
	c->is_over = c->is_over || read(STDIN_FILENO, line, sizeof(line)) <= 0;
}

static void wait_for_events(struct load *c)
{
	struct epoll_event events[EVENTS_MAX];
	int64_t us = c->due_us > c->now_us && c->asked < c->options.requests ? c->due_us - c->now_us
	                                                                     : TICK_US;
	struct timespec wait = { .tv_nsec = (us < TICK_US ? us : TICK_US) * 1000 };
	int count = epoll_pwait2(c->epoll, events, EVENTS_MAX, &wait, NULL);
	read_clock(c);
	for (int i = 0; i < count; i++) {
		if (events[i].data.ptr)
			update(c, events[i].data.ptr);
		else
			read_input(c);
	}
}

static void keep_connections(struct load *c)
{
	for (size_t i = 0; i < c->count; i++) {
		struct visitor *v = &c->visitors[i];
		if (v->state == VISITOR_CLOSED && c->now_us - v->since_us >= RECONNECT_US) {
			visitor_connect(v, c->epoll, c->options.ports[port_of(c, v)], c->now_us);
		} else if (v->state == VISITOR_WAITING &&
		           c->now_us - v->asked_us > ANSWER_TIMEOUT_US) {
			judge(c, v, 0);
			visitor_close(v, c->now_us);
		}
	}
}

static void visit(struct load *c)
{
	c->due_us = c->now_us;
	while (!c->is_over && c->answered < c->options.requests) {
		keep_connections(c);
		ask_what_is_due(c);
		wait_for_events(c);
	}
}

/* --- the command line --- */

static const struct option names[] = {
	{ "ports", required_argument, NULL, 'p' },
	{ "connections", required_argument, NULL, 'c' },
	{ "first-us", required_argument, NULL, 'f' },
	{ "every-us", required_argument, NULL, 'e' },
	{ "links", required_argument, NULL, 'l' },
	{ "window-us", required_argument, NULL, 'w' },
	{ "after-us", required_argument, NULL, 'a' },
	{ "requests", required_argument, NULL, 'n' },
	{ "rate", required_argument, NULL, 'r' },
	{ 0 },
};

static void parse_ports(char *list, struct options *o)
{
	char *rest = NULL;
	for (char *word = strtok_r(list, ",", &rest); word && o->port_count < PORTS_MAX;
	     word = strtok_r(NULL, ",", &rest))
		o->ports[o->port_count++] = (uint16_t)strtoul(word, NULL, 10);
}

static bool parse(int argc, char **argv, struct options *o)
{
	int name;
	*o = (struct options){ .connections = 16, .rate = 1000 };
	while ((name = getopt_long(argc, argv, "", names, NULL)) != -1) {
		int64_t number = name == 'p' ? 0 : strtoll(optarg ? optarg : "", NULL, 10);
		switch (name) {
		case 'p':
			parse_ports(optarg, o);
			break;
		case 'c':
			o->connections = (size_t)number;
			break;
		case 'f':
			o->first_us = number;
			break;
		case 'e':
			o->every_us = number;
			break;
		case 'l':
			o->links = number;
			break;
		case 'w':
			o->window_us = number;
			break;
		case 'a':
			o->after_us = number;
			break;
		case 'n':
			o->requests = number;
			break;
		case 'r':
			o->rate = (double)number;
			break;
		default:
			return false;
		}
	}
	return o->port_count > 0 && o->connections > 0 && o->first_us > 0 && o->every_us > 0 &&
	       o->links > 0 && o->window_us > 0 && o->after_us > 0 && o->requests > 0 &&
	       o->rate > 0;
}

static bool begin(struct load *c)
{
	struct epoll_event control = { .events = EPOLLIN | EPOLLHUP };
	c->count = c->options.connections * c->options.port_count;
	c->visitors = mem_array(c->count, sizeof(*c->visitors));
	c->questions = mem_array(c->count, sizeof(*c->questions));
	c->denied_us =
		mem_array(c->options.port_count * (size_t)c->options.links, sizeof(*c->denied_us));
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	read_clock(c);
	if (c->epoll >= 0 && epoll_ctl(c->epoll, EPOLL_CTL_ADD, STDIN_FILENO, &control) == 0)
		return true;
	perror("expiry_visitors: cannot start (standard input must be a pipe or a terminal)");
	return false;
}

static void end(struct load *c)
{
	for (size_t i = 0; i < c->count; i++)
		visitor_close(&c->visitors[i], c->now_us);
	free(c->visitors);
	free(c->questions);
	free(c->denied_us);
	if (c->epoll >= 0)
		close(c->epoll);
}

static void print_totals(const struct load *c)
{
	printf("{\"requests\": %" PRId64 ", \"redirected\": %" PRId64 ", \"gone\": %" PRId64
	       ", \"denied\": %" PRId64 ", \"denied_early\": %" PRId64
	       ", \"redirected_late\": %" PRId64 ", \"gone_early\": %" PRId64
	       ", \"came_back\": %" PRId64 ", \"unavailable\": %" PRId64
	       ", \"unanswered\": %" PRId64 ", \"longest_ms\": %.1f}\n",
	       c->answered, c->redirected, c->gone, c->denied, c->denied_early, c->redirected_late,
	       c->gone_early, c->came_back, c->unavailable, c->unanswered,
	       (double)c->longest_us / (double)CLOCK_US_PER_MS);
}

int main(int argc, char **argv)
{
	struct load load = { 0 };
	if (!parse(argc, argv, &load.options)) {
		fprintf(stderr,
		        "usage: expiry_visitors --ports N,N --links N --first-us T --every-us N --window-us N "
		        "--after-us N --requests N [--rate PER_SECOND] [--connections N]\n");
		return 64;
	}
	bool has_begun = begin(&load);
	if (has_begun) {
		visit(&load);
		print_totals(&load);
	}
	end(&load);
	return has_begun ? EXIT_SUCCESS : EXIT_FAILURE;
}
