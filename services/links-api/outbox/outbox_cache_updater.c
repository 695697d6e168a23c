#include "services/links-api/outbox/outbox_cache_updater.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/links/link_event.h"

static bool has_time(const struct outbox_cache_updater *updater, int64_t until_steady_us)
{
	return clock_steady_us(updater->clock) < until_steady_us;
}

/* Owners whose lists were already invalidated for this batch; once is enough. */
struct owners {
	int64_t *ids;
	size_t count;
};

static bool contains_owner(const struct owners *owners, int64_t id)
{
	for (size_t i = 0; i < owners->count; i++) {
		if (owners->ids[i] == id)
			return true;
	}
	return false;
}

static enum err invalidate_lists(const struct outbox_cache_updater *updater, int64_t id,
                                 struct owners *invalidated)
{
	if (contains_owner(invalidated, id))
		return OK;
	enum err err = list_cache_invalidate_on(updater->lists, updater->server, id);
	if (err == OK)
		invalidated->ids[invalidated->count++] = id;
	return err;
}

static enum err update_link(const struct outbox_cache_updater *updater, const struct link *link,
                            struct owners *invalidated)
{
	const struct link_cache_epoch to = { .server = updater->server,
		                             .generation = updater->generation };
	enum err err = link_cache_set_in_epoch(updater->cache, &to, &link->entry);
	if (err == OK || err == ERR_CONFLICT)
		err = invalidate_lists(updater, link->owner_id, invalidated);
	return err;
}

/* OK: row->cached is set. */
static enum err apply_row(const struct outbox_cache_updater *updater, struct outbox_row *row,
                          struct owners *invalidated)
{
	struct link_event event;
	enum err err = link_event_decode(row->payload, row->payload_len, &event);
	if (err == OK)
		err = update_link(updater, &event.link, invalidated);
	else
		err = OK;
	row->cached = err == OK;
	return err;
}

void outbox_cache_updater_apply(const struct outbox_cache_updater *updater,
                                struct outbox_batch *batch, int64_t until_steady_us)
{
	struct owners invalidated = { .ids = mem_array(batch->count, sizeof(*invalidated.ids)) };
	for (size_t i = 0;
	     updater->generation && i < batch->count && has_time(updater, until_steady_us); i++) {
		if (batch->rows[i].cached)
			continue;
		enum err err = apply_row(updater, &batch->rows[i], &invalidated);
		/*
		 * A key that Redis refuses to set (ERR_INTERNAL, logged by the pool) must not block
		 * the others.
		 */
		if (err == ERR_UNAVAILABLE || err == ERR_LIMIT)
			break;
	}
	free(invalidated.ids);
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
