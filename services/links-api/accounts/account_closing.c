#include "services/links-api/accounts/account_closing.h"

#include <stdlib.h>
#include <unistd.h>

#include "lib/base/background.h"
#include "lib/base/mem.h"
#include "lib/links/link_cache_trust.h"
#include "lib/links/link_closing_store.h"
#include "lib/links/outbox.h"
#include "lib/net/pg_transaction.h"
#include "services/links-api/access/api_key_store.h"
#include "services/links-api/accounts/audit_store.h"
#include "services/links-api/accounts/user_store.h"
#include "services/links-api/links/link_audit.h"

#define LOOK_MS 5000
#define TOLD_LOOK_US (20 * CLOCK_US_PER_MS)
#define TOLD_PATIENCE_US (LINK_CACHE_TRUST_BEAT_AGE_MS * CLOCK_US_PER_MS)

/* --- links, step by step --- */

/* One account on its way; a step's memory is 4 KB. */
struct work {
	const struct api *api;
	const char *request_id; /* NULL: nobody waits for it */
	struct link_closing_walk walk;
	struct link_closing_step step;
	bool is_long_gone;
};

static enum err audit_step(const struct work *w, struct pg_conn *conn)
{
	struct json *details = json_new_object();
	json_set_text(details, "because", "user.delete");
	const struct audit_entry entry = {
		.actor_id = w->walk.owner_id,
		.action = link_audit_action(LINK_CHANGE_DELETED),
		.subject_type = LINK_AUDIT_SUBJECT,
		.request_id = w->request_id,
		.details = details,
	};
	enum err err = audit_store_add_many(conn, &entry, w->step.ids, w->step.count);
	json_free(details);
	return err;
}

/* ERR_NOT_FOUND: somebody else is at this account, or has finished it. */
static enum err step_on(void *ctx, struct pg_conn *conn)
{
	struct work *w = ctx;
	int64_t id = 0;
	int64_t owner_id = w->walk.owner_id;
	enum err err = user_store_lock_closing(conn, owner_id - 1, ACCOUNT_CLOSING_S, &id, &w->is_long_gone);
	if (err == OK && id != owner_id)
		err = ERR_NOT_FOUND;
	if (err == OK)
		err = link_closing_store_step(conn, &w->walk, &w->step);
	return err == OK ? audit_step(w, conn) : err;
}

static enum err step(struct work *w)
{
	return pg_transaction_run(w->api->pg, step_on, w);
}

static bool is_told(const struct work *w)
{
	struct pg_conn *conn = NULL;
	bool told = false;
	if (pg_pool_take(w->api->pg, &conn) != OK)
		return false;
	enum err err = outbox_is_told(conn, w->step.last_slug, &told);
	pg_pool_give(w->api->pg, conn);
	return err == OK && told;
}

/* The relay tells in order: with the last, all of a step are told. As in link_telling nobody waits for longer. */
static void wait_until_told(const struct work *w)
{
	int64_t until_us = clock_steady_us(w->api->clock) + TOLD_PATIENCE_US;
	while (w->step.count > 0 && !is_told(w) && clock_steady_us(w->api->clock) < until_us)
		usleep(TOLD_LOOK_US);
}

/* --- at once --- */

struct ending {
	const struct request *request;
	const char *hash;
};

/* Of an admin: when another stays. Whoever has become one since he was asked who he is comes again. */
static enum err erase(const struct ending *ending, struct pg_conn *conn)
{
	const struct request *r = ending->request;
	bool is_admin = r->role == USER_ROLE_ADMIN;
	bool another_stays = false;
	bool was_admin = false;
	enum err err = is_admin ? user_store_lock_admins(conn, r->user_id, &another_stays) : OK;
	if (err == OK)
		err = user_store_erase(conn, r->user_id, ending->hash, &was_admin);
	if (err == OK && was_admin && !another_stays)
		err = is_admin ? ERR_CONFLICT : ERR_UNAVAILABLE;
	return err;
}

static enum err end_account_on(void *ctx, struct pg_conn *conn)
{
	const struct ending *ending = ctx;
	const struct request *r = ending->request;
	enum err err = erase(ending, conn);
	if (err == OK)
		err = api_key_store_delete_all(conn, r->user_id);
	if (err == OK)
		err = request_audit(r, conn, "user.delete", AUDIT_STORE_USER, r->user_id, NULL);
	return err;
}

enum err account_closing_begin(const struct request *r, const char *hash)
{
	struct ending ending = { r, hash };
	enum err err = pg_transaction_run(r->api->pg, end_account_on, &ending);
	if (err != OK)
		return err;
	struct work *w = mem_zero(sizeof(*w));
	*w = (struct work){ .api = r->api, .request_id = http_exchange_request_id(r->exchange) };
	w->walk.owner_id = r->user_id;
	for (size_t done = 0; done < ACCOUNT_CLOSING_AT_ONCE && !w->walk.is_over; done += LINK_CLOSING_STORE_STEP) {
		if (step(w) != OK)
			break; /* the thread goes on with it */
		wait_until_told(w);
	}
	free(w);
	return OK;
}

/* --- in the background --- */

struct account_closing {
	const struct api *api;
	struct background *background;
};

static enum err close_on(void *ctx, struct pg_conn *conn)
{
	const struct work *w = ctx;
	int64_t id = 0;
	bool is_long_gone = false;
	enum err err = user_store_lock_closing(conn, w->walk.owner_id - 1, ACCOUNT_CLOSING_S, &id, &is_long_gone);
	return err == OK && id == w->walk.owner_id ? user_store_set_closed(conn, id) : err;
}

static void close_account(struct work *w)
{
	if (pg_transaction_run(w->api->pg, close_on, w) == OK)
		log_info(w->api->log, "account_closed", LOG_INT("user_id", w->walk.owner_id));
}

/* One walk along all links; was it begun long enough after the end of the account, there are no more to come. */
static void walk_along(struct account_closing *closing, struct work *w)
{
	bool was_long_gone = true;
	enum err err = OK;
	while (err == OK && !w->walk.is_over && !background_is_ending(closing->background)) {
		err = step(w);
		was_long_gone = was_long_gone && w->is_long_gone;
		if (err == OK)
			wait_until_told(w);
	}
	if (err == OK && w->walk.is_over && was_long_gone)
		close_account(w);
}

/* id: of an account. Becomes that of the next closing one. */
static enum err find_next_on(void *id, struct pg_conn *conn)
{
	int64_t after = *(const int64_t *)id;
	bool is_long_gone;
	return user_store_lock_closing(conn, after, ACCOUNT_CLOSING_S, id, &is_long_gone);
}

/* The next closing account behind the last one that was looked at; 0 = none. */
static int64_t next_account(const struct account_closing *closing, int64_t after)
{
	int64_t id = after;
	return pg_transaction_run(closing->api->pg, find_next_on, &id) == OK ? id : 0;
}

static void run(void *ctx)
{
	struct account_closing *closing = ctx;
	struct work *w = mem_zero(sizeof(*w));
	while (!background_wait_ms(closing->background, LOOK_MS)) {
		for (int64_t id = 0; (id = next_account(closing, id)) && !background_is_ending(closing->background);) {
			*w = (struct work){ .api = closing->api, .walk = { .owner_id = id } };
			walk_along(closing, w);
		}
	}
	free(w);
}

struct account_closing *account_closing_start(const struct api *api)
{
	struct account_closing *closing = mem_zero(sizeof(*closing));
	closing->api = api;
	closing->background = background_new();
	background_start(closing->background, "accounts", run, closing);
	return closing;
}

void account_closing_stop(struct account_closing *closing)
{
	if (!closing)
		return;
	background_free(closing->background);
	free(closing);
}
