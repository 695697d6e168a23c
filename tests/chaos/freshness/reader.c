#include "tests/chaos/freshness/reader.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "tests/chaos/visitor.h"

#define EVENTS_MAX 64
#define TICK_MS 5
#define TRIES 4
#define RECONNECT_US (20 * CLOCK_US_PER_MS)
#define ANSWER_TIMEOUT_US (60 * CLOCK_US_PER_S)
#define LOCATION "\r\nLocation: https://t.example/"

struct reader {
	struct reader_config config;
	pthread_t thread;
	struct history_log *log;
	uint64_t random;
	uint64_t asked;
	/* Requests that may be sent now. */
	double allowed;
	int64_t ticked_us;
	int epoll;
	struct visitor *visitors;
};

static int64_t now_us(void)
{
	return clock_steady_us(clock_system());
}

/* Returns the number of the destination, or 0 if the link leads elsewhere. */
static uint32_t destination_of(const struct visitor *v)
{
	const char *at = v->status >= 300 && v->status < 400 ? strcasestr(v->head, LOCATION) : NULL;
	if (!at)
		return 0;
	char *end = NULL;
	unsigned long link = strtoul(at + strlen(LOCATION), &end, 10);
	return link == v->number && *end == '/' ? (uint32_t)strtoul(end + 1, NULL, 10) : 0;
}

static void record(struct reader *r, const struct visitor *v, bool is_answered)
{
	const struct history_read read = {
		.begin_us = v->due_us,
		.lasted_us = (uint32_t)(now_us() - v->due_us),
		.link = (uint32_t)v->number,
		.destination = is_answered ? destination_of(v) : 0,
		.status = is_answered ? (uint16_t)v->status : 0,
		.redirector = r->config.redirector,
	};
	history_log_read(r->log, &read);
	r->asked++;
}

static void update(struct reader *r, struct visitor *v)
{
	bool was_waiting = v->state == VISITOR_WAITING;
	enum visitor_event event = visitor_update(v, now_us());
	if (was_waiting && (event == VISITOR_ANSWERED || event == VISITOR_DISCONNECTED))
		record(r, v, event == VISITOR_ANSWERED);
}

static void ask(struct reader *r, struct visitor *v)
{
	char slug[HISTORY_SLUG_SIZE];
	uint32_t link;
	/* The redirectors get requests for rare links at different times. */
	uint64_t second =
		(uint64_t)(now_us() / CLOCK_US_PER_S) + r->config.redirector * LINK_POOL_GROUPS / 2;
	for (int tries = 0; tries < TRIES; tries++) {
		if (link_pool_choose(r->config.pool, &r->random, second, &link, slug)) {
			int64_t at_us = now_us();
			visitor_ask(v, slug, "fresh", link, at_us, at_us);
			return;
		}
	}
}

static void advance(struct reader *r, struct visitor *v, int64_t at_us)
{
	if (v->state == VISITOR_CLOSED && at_us - v->since_us >= RECONNECT_US) {
		visitor_connect(v, r->epoll, r->config.port, at_us);
	} else if (v->state == VISITOR_WAITING && at_us - v->due_us > ANSWER_TIMEOUT_US) {
		record(r, v, false);
		visitor_close(v, at_us);
	} else if (v->state == VISITOR_IDLE && r->allowed >= 1 &&
	           !atomic_load(r->config.is_paused)) {
		r->allowed -= r->config.rate > 0 ? 1 : 0;
		ask(r, v);
	}
}

static void allow(struct reader *r, int64_t at_us)
{
	double most = (double)r->config.visitors;
	double due = r->config.rate > 0 ? r->config.rate * (double)(at_us - r->ticked_us) /
	                                          (double)CLOCK_US_PER_S
	                                : most;
	r->ticked_us = at_us;
	r->allowed = r->allowed + due < most ? r->allowed + due : most;
}

static void *run(void *arg)
{
	struct reader *r = arg;
	struct epoll_event events[EVENTS_MAX];
	r->ticked_us = now_us();
	while (!atomic_load(r->config.is_over)) {
		allow(r, now_us());
		for (size_t i = 0; i < r->config.visitors; i++)
			advance(r, &r->visitors[i], now_us());
		int count = epoll_wait(r->epoll, events, EVENTS_MAX, TICK_MS);
		for (int i = 0; i < count; i++)
			update(r, events[i].data.ptr);
	}
	for (size_t i = 0; i < r->config.visitors; i++)
		visitor_close(&r->visitors[i], now_us());
	return NULL;
}

struct reader *reader_new(const struct reader_config *config)
{
	struct history_log *log = history_log_new(config->log, HISTORY_READS);
	if (!log)
		return NULL;
	struct reader *r = mem_zero(sizeof(*r));
	r->config = *config;
	r->random = config->seed;
	r->log = log;
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	r->visitors = mem_array(config->visitors, sizeof(*r->visitors));
	if (r->epoll < 0 || pthread_create(&r->thread, NULL, run, r) != 0)
		abort();
	return r;
}

uint64_t reader_free(struct reader *r)
{
	if (!r)
		return 0;
	pthread_join(r->thread, NULL);
	uint64_t asked = r->asked;
	history_log_free(r->log);
	close(r->epoll);
	free(r->visitors);
	free(r);
	return asked;
}
