#include "services/links-api/outbox/outbox_session.h"

#include <stdio.h>

#include "lib/base/entropy.h"
#include "lib/links/outbox.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/outbox/outbox_generation.h"
#include "services/links-api/outbox/outbox_watermark.h"

#define LOCK_MS 5000
#define SEND_WINDOW_US CLOCK_US_PER_S
#define EXTEND_AFTER_US (CLOCK_US_PER_S / 2)
#define PG_CONNECT_TIMEOUT_MS 2000
#define PG_STATEMENT_TIMEOUT_MS 3000

enum err outbox_session_init(struct outbox_session *session, struct metrics *metrics)
{
	uint8_t uuid[ENTROPY_UUID_SIZE];
	char id[ENTROPY_UUID_TEXT_SIZE];
	char holder[FENCED_LOCK_HOLDER_MAX + 1];
	entropy_uuid4(uuid);
	entropy_uuid_format(uuid, id);
	snprintf(holder, sizeof(holder), "links-api-%s", id);
	atomic_init(&session->active, false);
	atomic_init(&session->held_steady_us, INT64_MIN / 2);
	session->epoch_number = metrics_gauge(
		metrics, "waymark_database_epoch",
		"Epoch of the database: rises when commits may have been lost; 0 = not read yet",
		NULL);
	return fenced_lock_init(&session->lock, OUTBOX_SESSION_LOCK, holder);
}

static void set_active(struct outbox_session *session, bool is_active)
{
	if (!is_active)
		outbox_generation_reset(session->generation);
	if (atomic_exchange(&session->active, is_active) != is_active)
		log_info(session->log, is_active ? "outbox_relay_active" : "outbox_relay_standby");
}

void outbox_session_stand_by(struct outbox_session *session)
{
	set_active(session, false);
}

static void disconnect(struct outbox_session *session)
{
	pg_conn_close(session->conn);
	session->conn = NULL;
	set_active(session, false);
}

bool outbox_session_is_open(const struct outbox_session *session)
{
	return session->conn && pg_conn_is_usable(session->conn);
}

/* Without a word: the pool of the API logs it. */
static enum err check_schema(struct outbox_session *session)
{
	int64_t version;
	enum err err = pg_pool_schema_version(session->conn, &version);
	if (err == OK && version >= session->schema_version)
		return OK;
	disconnect(session);
	return ERR_UNAVAILABLE;
}

static enum err connect(struct outbox_session *session)
{
	disconnect(session);
	enum err err =
		pg_conn_open(session->pg_url, "links-api outbox relay", PG_CONNECT_TIMEOUT_MS,
	                     PG_STATEMENT_TIMEOUT_MS, session->log, &session->conn);
	if (err == OK)
		err = check_schema(session);
	if (err == OK)
		err = pg_conn_query(session->conn, "LISTEN " OUTBOX_CHANNEL, NULL, NULL);
	return err;
}

/*
 * Begins a new epoch if the server has another history; until then, PostgreSQL refuses changes of
 * links and new users. Needs no lock: any instance may adopt the history of a server that has just
 * become the primary, and the sooner the better.
 */
static enum err adopt_epoch(struct outbox_session *session)
{
	struct database_epoch epoch = { 0 };
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(session->conn,
	                             "SELECT epoch, link_version_base FROM database_epoch_adopt()",
	                             NULL, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_INTERNAL;
	if (err == OK)
		epoch = (struct database_epoch){ .number = pg_result_int(rows, 0, 0),
			                         .link_version_base = pg_result_int(rows, 0, 1) };
	pg_result_free(rows);
	if (err != OK || epoch.number == session->epoch.number)
		return err;
	outbox_generation_reset(session->generation);
	metrics_set(session->epoch_number, epoch.number);
	if (session->epoch.number != 0)
		log_warning(session->log, "database_epoch_raised", LOG_INT("epoch", epoch.number));
	session->epoch = epoch;
	return OK;
}

enum err outbox_session_open(struct outbox_session *session)
{
	enum err err = outbox_session_is_open(session) ? OK : connect(session);
	return err == OK ? adopt_epoch(session) : err;
}

enum err outbox_session_extend(struct outbox_session *session)
{
	int64_t requested_us = clock_steady_us(session->clock);
	enum err err = fenced_lock_extend(&session->lock, session->conn, LOCK_MS);
	if (err == OK)
		atomic_store(&session->held_steady_us, requested_us);
	return err;
}

static enum err acquire(struct outbox_session *session)
{
	int64_t requested_us = clock_steady_us(session->clock);
	enum err err = fenced_lock_acquire(&session->lock, session->conn, LOCK_MS);
	if (err == OK) {
		atomic_store(&session->held_steady_us, requested_us);
		outbox_watermark_reset(session->watermark);
	}
	return err;
}

static int64_t held_for_us(const struct outbox_session *session)
{
	return clock_steady_us(session->clock) - atomic_load(&session->held_steady_us);
}

enum err outbox_session_lock(struct outbox_session *session)
{
	if (atomic_load(&session->active) && held_for_us(session) < EXTEND_AFTER_US)
		return OK;
	enum err err = session->lock.fence ? outbox_session_extend(session) : ERR_CONFLICT;
	if (err == ERR_CONFLICT)
		err = acquire(session);
	set_active(session, err == OK);
	return err;
}

bool outbox_session_may_send(const struct outbox_session *session)
{
	return held_for_us(session) < SEND_WINDOW_US;
}

bool outbox_session_is_active(const struct outbox_session *session)
{
	return atomic_load(&session->active) && held_for_us(session) < LOCK_MS * CLOCK_US_PER_MS;
}

void outbox_session_maintain_generation(struct outbox_session *session)
{
	if (outbox_session_is_open(session) && atomic_load(&session->active))
		outbox_generation_maintain(session->generation, session->conn, &session->lock,
		                           atomic_load(&session->held_steady_us));
}

void outbox_session_close(struct outbox_session *session)
{
	if (outbox_session_is_open(session) && session->lock.fence) {
		enum err err = fenced_lock_release(&session->lock, session->conn, 0);
		(void)err; /* the lock expires by itself */
	}
	disconnect(session);
}
