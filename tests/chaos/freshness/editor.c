#include "tests/chaos/freshness/editor.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "tests/chaos/freshness/draft.h"

#define DRAFTS 48
#define NO_CONNECTION_US 20000
/* One in so many links is anonymous: it cannot be changed, only read. */
#define ANONYMOUS_SHARE 8
#define LIFE_LEAST_MS 1200
#define LIFE_RANGE_MS 2000

struct editor {
	struct editor_config config;
	pthread_t thread;
	struct api_client *client;
	struct history_log *log;
	uint64_t random;
	/* Place of the draft that the next new link replaces. */
	size_t next;
	struct draft drafts[DRAFTS];
};

static bool change(struct editor *e, struct draft *d, enum history_act act, bool is_anonymous)
{
	struct history_change done;
	int64_t life_us =
		(LIFE_LEAST_MS + link_pool_random(&e->random, LIFE_RANGE_MS)) * CLOCK_US_PER_MS;
	if (!draft_change(d, e->client, act, is_anonymous, life_us, &done)) {
		usleep(NO_CONNECTION_US);
		return false;
	}
	history_log_change(e->log, &done);
	return true;
}

static void make_one(struct editor *e)
{
	struct draft *d = &e->drafts[e->next % DRAFTS];
	bool is_anonymous = link_pool_random(&e->random, ANONYMOUS_SHARE) == 0;
	struct draft born = { .link = link_pool_draw(e->config.pool) };
	if (born.link == HISTORY_LINKS_MAX)
		return;
	link_pool_custom_slug(e->config.pool, born.link, born.slug);
	while (!change(e, &born, HISTORY_CREATE, is_anonymous)) {
		if (atomic_load(e->config.is_over))
			return;
	}
	if (born.state == DRAFT_NONE)
		return;
	link_pool_put(e->config.pool, born.link, born.slug);
	link_pool_touch(e->config.pool, born.link);
	if (is_anonymous)
		return;
	*d = born;
	e->next++;
}

static enum history_act next_act(struct editor *e, const struct draft *d)
{
	if (d->is_in_doubt)
		return HISTORY_LOOK;
	if (d->state == DRAFT_DELETED)
		return HISTORY_RESTORE;
	if (d->state == DRAFT_DISABLED)
		return HISTORY_ENABLE;
	uint32_t dice = link_pool_random(&e->random, 20);
	if (dice < 3)
		return HISTORY_DISABLE;
	if (dice < 6)
		return HISTORY_DELETE;
	return dice < 10 ? HISTORY_EXPIRE : HISTORY_EDIT;
}

/* Most links that are about to expire are left alone, so that readers see them expire. */
static bool is_let_expire(struct editor *e, const struct draft *d)
{
	int64_t now_us = clock_steady_us(clock_system());
	return d->expires_us != 0 && d->state == DRAFT_ACTIVE &&
	       now_us < d->expires_us + CLOCK_US_PER_S && link_pool_random(&e->random, 4) != 0;
}

static void work(struct editor *e)
{
	uint32_t dice = link_pool_random(&e->random, 16);
	struct draft *d = &e->drafts[link_pool_random(&e->random, DRAFTS)];
	if (dice == 0 || d->state == DRAFT_NONE) {
		make_one(e);
		return;
	}
	if (is_let_expire(e, d) && !d->is_in_doubt)
		return;
	link_pool_touch(e->config.pool, d->link);
	change(e, d, next_act(e, d), false);
}

static void *run(void *arg)
{
	struct editor *e = arg;
	int64_t pause_us = (int64_t)((double)CLOCK_US_PER_S / e->config.rate);
	int64_t due_us = clock_steady_us(clock_system());
	while (!atomic_load(e->config.is_over)) {
		int64_t now_us = clock_steady_us(clock_system());
		due_us += pause_us;
		if (due_us < now_us - CLOCK_US_PER_S)
			due_us = now_us;
		if (due_us > now_us)
			usleep((useconds_t)(due_us - now_us));
		work(e);
	}
	return NULL;
}

struct editor *editor_new(const struct editor_config *config)
{
	struct history_log *log = history_log_new(config->log, HISTORY_CHANGES);
	if (!log)
		return NULL;
	struct editor *e = mem_zero(sizeof(*e));
	e->config = *config;
	e->random = config->seed;
	e->log = log;
	e->client = api_client_new(config->port, config->token);
	if (pthread_create(&e->thread, NULL, run, e) != 0)
		abort();
	return e;
}

void editor_free(struct editor *e)
{
	if (!e)
		return;
	pthread_join(e->thread, NULL);
	history_log_free(e->log);
	api_client_free(e->client);
	free(e);
}
