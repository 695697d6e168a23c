#include "services/links-api/outbox/outbox_cache_updater.h"

#include "lib/links/link_event.h"

static bool has_time(const struct outbox_cache_updater *updater, int64_t until_steady_us)
{
	return clock_steady_us(updater->clock) < until_steady_us;
}

static enum err update_link(const struct outbox_cache_updater *updater,
                            const struct link_entry *entry)
{
	const struct link_cache_epoch to = { .server = updater->server,
		                             .generation = updater->generation };
	enum err err = link_cache_set_in_epoch(updater->cache, &to, entry);
	return err == ERR_CONFLICT ? OK : err;
}

/* OK: row->cached is set. */
static enum err apply_row(const struct outbox_cache_updater *updater, struct outbox_row *row)
{
	struct link_event event;
	enum err err = link_event_decode(row->payload, row->payload_len, &event);
	err = err == OK ? update_link(updater, &event.link.entry) : OK;
	row->cached = err == OK;
	return err;
}

void outbox_cache_updater_apply(const struct outbox_cache_updater *updater,
                                struct outbox_batch *batch, int64_t until_steady_us)
{
	for (size_t i = 0;
	     updater->generation && i < batch->count && has_time(updater, until_steady_us); i++) {
		if (batch->rows[i].cached)
			continue;
		enum err err = apply_row(updater, &batch->rows[i]);
		/*
		 * A key that Redis refuses to set (ERR_INTERNAL, logged by the pool) must not block
		 * the others.
		 */
		if (err == ERR_UNAVAILABLE || err == ERR_LIMIT)
			break;
	}
}

static size_t cached_count(const struct outbox_batch *batch)
{
	size_t count = 0;
	for (size_t i = 0; i < batch->count; i++)
		count += batch->rows[i].cached;
	return count;
}

enum err outbox_cache_updater_catch_up(const struct outbox_cache_updater *updater,
                                       struct pg_conn *conn, int64_t until_steady_us,
                                       bool *is_complete)
{
	bool more = true;
	enum err err = OK;
	*is_complete = false;
	while (err == OK && more && has_time(updater, until_steady_us)) {
		struct outbox_batch batch = { 0 };
		err = outbox_read_uncached(conn, OUTBOX_CACHE_UPDATER_ROWS_MAX, &batch);
		if (err != OK)
			break;
		outbox_cache_updater_apply(updater, &batch, until_steady_us);
		size_t cached = cached_count(&batch);
		if (cached > 0)
			err = outbox_set_cached(conn, &batch);
		*is_complete = err == OK && cached == batch.count &&
		               cached < OUTBOX_CACHE_UPDATER_ROWS_MAX;
		more = cached == OUTBOX_CACHE_UPDATER_ROWS_MAX;
		outbox_batch_clear(&batch);
	}
	return err;
}
