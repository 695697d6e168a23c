#include "services/redirector/salt_keeper.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/background.h"
#include "lib/base/mem.h"
#include "lib/clicks/salt_store.h"

#define READ_EVERY_MS 60000
#define RETRY_EVERY_MS 1000
#define DAYS 3 /* yesterday, for who asked before midnight and is answered after it; today; tomorrow */

struct salt_keeper {
	struct pg_pool *postgres;
	const struct clock *clock;
	const struct log *log;
	struct background *background;
	pthread_mutex_t lock; /* of what follows */
	bool is_missing;      /* today's salt, as last said in the log */
	size_t count;
	struct ready_salt {
		int32_t day;
		struct digest_hmac_key key;
	} salts[DAYS];
};

bool salt_keeper_get(struct salt_keeper *keeper, int64_t time_us, struct digest_hmac_key *salt)
{
	int32_t day = clock_utc_day(time_us);
	bool is_known = false;
	pthread_mutex_lock(&keeper->lock);
	for (size_t i = 0; i < keeper->count && !is_known; i++) {
		is_known = keeper->salts[i].day == day;
		if (is_known)
			*salt = keeper->salts[i].key;
	}
	pthread_mutex_unlock(&keeper->lock);
	return is_known;
}

static enum err read_salts(struct salt_keeper *keeper, int32_t today, struct salt *salts, size_t *count)
{
	struct pg_conn *conn = NULL;
	enum err e = pg_pool_take(keeper->postgres, &conn);
	if (e != OK)
		return e;
	e = salt_store_read(conn, today - 1, today + 1, salts, count);
	pg_pool_give(keeper->postgres, conn);
	return e;
}

static void tell_change(struct salt_keeper *keeper, bool is_missing)
{
	if (is_missing && !keeper->is_missing)
		log_warning(keeper->log, "salt_missing");
	else if (!is_missing && keeper->is_missing)
		log_info(keeper->log, "salt_read");
	keeper->is_missing = is_missing;
}

static void take(struct salt_keeper *keeper, const struct salt *salts, size_t count)
{
	explicit_bzero(keeper->salts, sizeof(keeper->salts));
	for (size_t i = 0; i < count; i++) {
		keeper->salts[i].day = salts[i].day;
		digest_hmac_key_init(&keeper->salts[i].key, salts[i].bytes, sizeof(salts[i].bytes));
	}
	keeper->count = count;
}

/* Not even while PostgreSQL is away does a salt outlive the day after its own. */
static void forget_old(struct salt_keeper *keeper, int32_t today)
{
	size_t kept = 0;
	for (size_t i = 0; i < keeper->count; i++) {
		if (keeper->salts[i].day >= today - 1)
			keeper->salts[kept++] = keeper->salts[i];
	}
	for (size_t i = kept; i < keeper->count; i++)
		explicit_bzero(&keeper->salts[i], sizeof(keeper->salts[i]));
	keeper->count = kept;
}

/* Gives whether today's and tomorrow's are there. What was read before stays when PostgreSQL is away. */
static bool refresh(struct salt_keeper *keeper)
{
	struct salt salts[DAYS];
	size_t count = 0;
	int64_t now_us = clock_now_us(keeper->clock);
	bool was_read = read_salts(keeper, clock_utc_day(now_us), salts, &count) == OK;
	pthread_mutex_lock(&keeper->lock);
	if (was_read)
		take(keeper, salts, count);
	forget_old(keeper, clock_utc_day(now_us));
	pthread_mutex_unlock(&keeper->lock);
	struct digest_hmac_key salt;
	bool has_today = salt_keeper_get(keeper, now_us, &salt);
	tell_change(keeper, !has_today);
	return has_today && salt_keeper_get(keeper, now_us + CLOCK_US_PER_DAY, &salt);
}

static void keep(void *ctx)
{
	struct salt_keeper *keeper = ctx;
	bool is_complete;
	do
		is_complete = refresh(keeper);
	while (!background_wait_ms(keeper->background, is_complete ? READ_EVERY_MS : RETRY_EVERY_MS));
}

struct salt_keeper *salt_keeper_new(const struct salt_keeper_config *config)
{
	struct salt_keeper *keeper = mem_zero(sizeof(*keeper));
	keeper->postgres = config->postgres;
	keeper->clock = config->clock;
	keeper->log = config->log;
	pthread_mutex_init(&keeper->lock, NULL);
	keeper->background = background_new();
	background_start(keeper->background, "salt-keeper", keep, keeper);
	return keeper;
}

void salt_keeper_free(struct salt_keeper *keeper)
{
	if (!keeper)
		return;
	background_free(keeper->background);
	pthread_mutex_destroy(&keeper->lock);
	free(keeper);
}
