/*
 * Many visitors of a redirector, for the chaos tests. A log (click_log.h) gets a row per request.
 * Each request carries its number as its campaign (?utm_campaign=RUN.NUMBER), which matches it with
 * its RedirectEvent. The mode decides the load:
 *
 *   follow  requests the slugs in turn at a steady rate. The latency of a late request counts from
 *           when it was due. While no connection is accepted, visitors reconnect, but requests do
 *           not pile up. With --requests it ends once so many requests have their answers.
 *   burst   opens all connections, prints "open", and on a line of input sends a request on each
 *   drip    sends a byte every two seconds on each connection; a row of the log is a connection
 *           that the server closed
 *
 * The program ends when its standard input ends, so it does not outlive its test.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "tests/chaos/click_log.h"
#include "tests/chaos/visitor.h"

#define EVENTS_MAX 256
#define CONNECTING_MAX 256
#define RECONNECT_US (25 * CLOCK_US_PER_MS)
#define TICK_US (20 * CLOCK_US_PER_MS)
#define ANSWER_TIMEOUT_US (60 * CLOCK_US_PER_S)
#define DRIP_US (2 * CLOCK_US_PER_S)

struct options {
	uint16_t port;
	size_t connections;
	double rate;
	const char *slug;
	/* 0: slug itself; else slug-0, slug-1, ... */
	uint64_t slugs;
	/* Of follow; 0: until the end of standard input. */
	uint64_t requests;
	const char *run;
	const char *log;
	const char *mode;
};

struct load {
	struct options options;
	int epoll;
	struct visitor *visitors;
	struct click_log *log;
	size_t connecting;
	/* VISITOR_IDLE or VISITOR_WAITING. */
	size_t open;
	size_t waiting;
	/* The next visitor to try. */
	size_t cursor;
	uint64_t asked;
	int64_t now_us;
	/* When the next request is due. */
	int64_t due_us;
	int64_t ticked_us;
	bool reconnects;
	/* The log has a row per connection that the server closed, not per request. */
	bool logs_closed;
	/* A line came, or the end of standard input. */
	bool has_input;
	/* Standard input has ended. */
	bool is_over;
};

static void read_clock(struct load *c)
{
	c->now_us = clock_steady_us(clock_system());
}

static void read_input(struct load *c)
{
	char line[64];
	c->has_input = true;
	c->is_over = c->is_over || read(STDIN_FILENO, line, sizeof(line)) <= 0;
}

static void add_row(struct load *c, const struct visitor *v, unsigned status)
{
	click_log_add(c->log, v->number, v->due_us, c->now_us, status);
}

static void update(struct load *c, struct visitor *v)
{
	enum visitor_state before = v->state;
	enum visitor_event event = visitor_update(v, c->now_us);
	if (event == VISITOR_NOTHING)
		return;
	c->connecting -= before == VISITOR_CONNECTING;
	c->waiting -= before == VISITOR_WAITING;
	c->open += event == VISITOR_CONNECTED;
	c->open -= before != VISITOR_CONNECTING && v->state == VISITOR_CLOSED;
	if (before == VISITOR_WAITING)
		add_row(c, v, event == VISITOR_ANSWERED ? v->status : 0);
	else if (event == VISITOR_DISCONNECTED && c->logs_closed)
		add_row(c, v, v->status);
}

static void wait_for_events(struct load *c, int64_t until_us)
{
	struct epoll_event events[EVENTS_MAX];
	int64_t us = until_us > c->now_us ? until_us - c->now_us : 0;
	struct timespec wait = { .tv_sec = us / CLOCK_US_PER_S,
		                 .tv_nsec = us % CLOCK_US_PER_S * 1000 };
	int count = epoll_pwait2(c->epoll, events, EVENTS_MAX, &wait, NULL);
	read_clock(c);
	for (int i = 0; i < count; i++) {
		if (events[i].data.ptr)
			update(c, events[i].data.ptr);
		else
			read_input(c);
	}
}

static void connect_some(struct load *c)
{
	for (size_t i = 0; i < c->options.connections && c->connecting < CONNECTING_MAX; i++) {
		struct visitor *v = &c->visitors[i];
		if (v->state != VISITOR_CLOSED || c->now_us - v->since_us < RECONNECT_US)
			continue;
		visitor_connect(v, c->epoll, c->options.port, c->now_us);
		c->connecting += v->state == VISITOR_CONNECTING;
	}
}

static void time_out(struct load *c)
{
	for (size_t i = 0; i < c->options.connections; i++) {
		struct visitor *v = &c->visitors[i];
		if (v->state != VISITOR_WAITING || c->now_us - v->asked_us < ANSWER_TIMEOUT_US)
			continue;
		add_row(c, v, 0);
		visitor_close(v, c->now_us);
		c->waiting--;
		c->open--;
	}
}

static void tick(struct load *c)
{
	if (c->now_us - c->ticked_us < TICK_US)
		return;
	c->ticked_us = c->now_us;
	if (c->reconnects)
		connect_some(c);
	time_out(c);
	click_log_flush(c->log);
}

static void ask(struct load *c, struct visitor *v, int64_t due_us)
{
	char slug[64];
	uint64_t number = c->asked++;
	if (c->options.slugs > 0)
		snprintf(slug, sizeof(slug), "%s-%llu", c->options.slug,
		         (unsigned long long)(number % c->options.slugs));
	else
		snprintf(slug, sizeof(slug), "%s", c->options.slug);
	visitor_ask(v, slug, c->options.run, number, due_us, c->now_us);
	c->waiting++;
}

static struct visitor *next_idle(struct load *c)
{
	if (c->waiting == c->open)
		return NULL;
	for (;;) {
		struct visitor *v = &c->visitors[c->cursor++ % c->options.connections];
		if (v->state == VISITOR_IDLE)
			return v;
	}
}

static bool has_asked_enough(const struct load *c)
{
	return c->options.requests > 0 && c->asked >= c->options.requests;
}

static void ask_what_is_due(struct load *c)
{
	struct visitor *v;
	while (c->due_us <= c->now_us && !has_asked_enough(c) && (v = next_idle(c)) != NULL) {
		ask(c, v, c->due_us);
		c->due_us += (int64_t)(CLOCK_US_PER_S / c->options.rate);
	}
	if (c->open == 0)
		c->due_us = c->now_us;
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void wait_for_answers(struct load *c)
{
	int64_t until_us = c->now_us + ANSWER_TIMEOUT_US;
	while (c->waiting > 0 && c->now_us < until_us + TICK_US) {
		tick(c);
		wait_for_events(c, c->now_us + TICK_US);
	}
}

static void follow(struct load *c)
{
	c->due_us = c->now_us;
	c->reconnects = true;
	while (!c->is_over && !has_asked_enough(c)) {
		tick(c);
		ask_what_is_due(c);
		bool is_free = c->waiting < c->open;
		wait_for_events(c, is_free ? earlier(c->due_us, c->now_us + TICK_US)
		                           : c->now_us + TICK_US);
	}
	c->reconnects = false;
	wait_for_answers(c);
}

static void burst(struct load *c)
{
	c->reconnects = true;
	bool was_open = false;
	while (!c->has_input) {
		tick(c);
		wait_for_events(c, c->now_us + TICK_US);
		if (!was_open && c->open == c->options.connections) {
			was_open = true;
			printf("open\n");
			fflush(stdout);
		}
	}
	read_clock(c);
	for (struct visitor *v; (v = next_idle(c)) != NULL;)
		ask(c, v, c->now_us);
	wait_for_answers(c);
}

static void drip_on_all(struct load *c)
{
	static const char request[] =
		"GET /drip HTTP/1.1\r\nHost: waymark.test\r\nX-Slow: very\r\n\r\n";
	for (size_t i = 0; i < c->options.connections; i++) {
		struct visitor *v = &c->visitors[i];
		if (v->state != VISITOR_IDLE ||
		    v->due_us + (int64_t)v->number * DRIP_US > c->now_us)
			continue;
		visitor_drip(v, request[v->number++ % (sizeof(request) - 1)]);
	}
}

static void drip(struct load *c)
{
	size_t started = 0;
	c->logs_closed = true;
	while (!c->is_over && (started < c->options.connections || c->open + c->connecting > 0)) {
		for (; started < c->options.connections && c->connecting < CONNECTING_MAX;
		     started++) {
			visitor_connect(&c->visitors[started], c->epoll, c->options.port,
			                c->now_us);
			c->visitors[started].due_us = c->now_us;
			c->connecting += c->visitors[started].state == VISITOR_CONNECTING;
		}
		tick(c);
		drip_on_all(c);
		wait_for_events(c, c->now_us + TICK_US);
	}
}

/* --- the command line --- */

static const struct option names[] = {
	{ "port", required_argument, NULL, 'p' },
	{ "connections", required_argument, NULL, 'c' },
	{ "rate", required_argument, NULL, 'r' },
	{ "slug", required_argument, NULL, 's' },
	{ "slugs", required_argument, NULL, 'n' },
	{ "run", required_argument, NULL, 'u' },
	{ "log", required_argument, NULL, 'l' },
	{ "requests", required_argument, NULL, 'q' },
	{ 0 },
};

static bool parse(int argc, char **argv, struct options *o)
{
	int name;
	*o = (struct options){ .connections = 1, .rate = 1, .slug = "slug", .run = "run" };
	while ((name = getopt_long(argc, argv, "", names, NULL)) != -1) {
		switch (name) {
		case 'p':
			o->port = (uint16_t)strtoul(optarg, NULL, 10);
			break;
		case 'c':
			o->connections = strtoul(optarg, NULL, 10);
			break;
		case 'r':
			o->rate = strtod(optarg, NULL);
			break;
		case 's':
			o->slug = optarg;
			break;
		case 'n':
			o->slugs = strtoul(optarg, NULL, 10);
			break;
		case 'q':
			o->requests = strtoul(optarg, NULL, 10);
			break;
		case 'u':
			o->run = optarg;
			break;
		case 'l':
			o->log = optarg;
			break;
		default:
			return false;
		}
	}
	o->mode = argv[optind];
	return o->mode && o->port && o->log && o->connections > 0 && o->rate > 0;
}

static void (*mode_of(const struct options *o))(struct load *)
{
	if (strcmp(o->mode, "follow") == 0)
		return follow;
	if (strcmp(o->mode, "burst") == 0)
		return burst;
	return strcmp(o->mode, "drip") == 0 ? drip : NULL;
}

static bool begin(struct load *c)
{
	struct epoll_event control = { .events = EPOLLIN | EPOLLHUP };
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	c->visitors = mem_array(c->options.connections, sizeof(*c->visitors));
	c->log = click_log_new(c->options.log);
	read_clock(c);
	if (c->epoll >= 0 && c->log &&
	    epoll_ctl(c->epoll, EPOLL_CTL_ADD, STDIN_FILENO, &control) == 0)
		return true;
	perror("visitors: cannot start (standard input must be a pipe or a terminal)");
	return false;
}

static void end(struct load *c)
{
	for (size_t i = 0; i < c->options.connections; i++)
		visitor_close(&c->visitors[i], c->now_us);
	click_log_free(c->log);
	free(c->visitors);
	if (c->epoll >= 0)
		close(c->epoll);
}

int main(int argc, char **argv)
{
	struct load load = { 0 };
	if (!parse(argc, argv, &load.options) || !mode_of(&load.options)) {
		fprintf(stderr,
		        "usage: visitors --port N --log FILE [--connections N] [--rate PER_SECOND] [--slug TEXT]"
		        " [--slugs N] [--requests N] [--run NAME] follow|burst|drip\n");
		return 64;
	}
	bool has_begun = begin(&load);
	if (has_begun) {
		mode_of (&load.options)(&load);
		click_log_print(load.log);
	}
	end(&load);
	return has_begun ? EXIT_SUCCESS : EXIT_FAILURE;
}
