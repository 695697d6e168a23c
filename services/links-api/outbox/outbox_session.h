/*
 * The right to publish: the relay's connection, the epoch of its database, and the lock that one
 * relay of all instances holds (fenced_lock "waymark_outbox_relay", 5 s, extended).
 *
 * The relay's thread uses it. outbox_session_is_active is safe from any thread.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_SESSION_H
#define WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/postgres/fenced_lock.h"
#include "lib/postgres/pg_conn.h"

#define OUTBOX_SESSION_LOCK "waymark_outbox_relay"

struct outbox_generation;
struct outbox_watermark;

/*
 * It rises when the server continues another history than before: a standby was promoted, or a
 * backup was restored. Commits of the earlier epoch may be lost then
 * (docs/decisions/0053-database-epoch.md).
 */
struct database_epoch {
	/* From 1. */
	int64_t number;
	/* Below every version of a link that this epoch issues. */
	int64_t link_version_base;
};

struct outbox_session {
	/* The first six are the caller's. */
	const char *pg_url;
	int64_t schema_version;
	const struct clock *clock;
	const struct log *log;
	/* Reset when the lock is lost and when the epoch rises: then it is outdated. */
	struct outbox_generation *generation;
	/* Reset when the lock is acquired: another relay may have published meanwhile. */
	struct outbox_watermark *watermark;

	struct pg_conn *conn;
	struct fenced_lock lock;
	struct database_epoch epoch;
	_Atomic bool active;
	/* When the lock was last confirmed, measured before asking. */
	_Atomic int64_t held_steady_us;
	struct metric *epoch_number;
};

enum err outbox_session_init(struct outbox_session *session, struct metrics *metrics) MUST_CHECK;

/*
 * Connects, listens to the outbox and adopts the epoch, if that is not done yet. ERR_UNAVAILABLE:
 * PostgreSQL cannot be reached, or its schema is older than schema_version.
 */
enum err outbox_session_open(struct outbox_session *session) MUST_CHECK;

bool outbox_session_is_open(const struct outbox_session *session);

/*
 * OK: this relay holds the lock for at least half a second more. ERR_CONFLICT: another relay holds
 * it. Asks the database only if the last extension is half a second old.
 */
enum err outbox_session_lock(struct outbox_session *session) MUST_CHECK;

/* OK: nobody else held the lock meanwhile. ERR_CONFLICT: it was lost. */
enum err outbox_session_extend(struct outbox_session *session) MUST_CHECK;

/* A relay sends only within a second after it extended the lock. */
bool outbox_session_may_send(const struct outbox_session *session);

/* Runs outbox_generation_maintain if this relay holds the lock. */
void outbox_session_maintain_generation(struct outbox_session *session);

/* Another relay has the lock. */
void outbox_session_stand_by(struct outbox_session *session);

/* True if this relay holds the lock. */
bool outbox_session_is_active(const struct outbox_session *session);

/* Releases the lock and disconnects. */
void outbox_session_close(struct outbox_session *session);

#endif
