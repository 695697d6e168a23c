#include "services/links-api/outbox/outbox_teller.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/links/link_event.h"

static bool in_time(const struct outbox_teller *teller, int64_t until_steady_us)
{
	return clock_steady_us(teller->clock) < until_steady_us;
}

/* Whose lists were forgotten since the rows of a batch were read: once is enough for all of them. */
struct owners {
	int64_t *ids;
	size_t count;
};

static bool has_owner(const struct owners *owners, int64_t id)
{
	for (size_t i = 0; i < owners->count; i++) {
		if (owners->ids[i] == id)
			return true;
	}
	return false;
}

static enum err tell_owner(const struct outbox_teller *teller, int64_t id, struct owners *told)
{
	if (has_owner(told, id))
		return OK;
	enum err err = list_cache_tell(teller->lists, teller->server, id);
	if (err == OK)
		told->ids[told->count++] = id;
	return err;
}

static enum err tell_link(const struct outbox_teller *teller, const struct link *link, struct owners *told)
{
	const struct link_cache_trusted to = { .server = teller->server, .generation = teller->generation };
	enum err err = link_cache_tell(teller->cache, &to, &link->entry);
	if (err == OK || err == ERR_CONFLICT)
		err = tell_owner(teller, link->owner_id, told);
	return err;
}

/* OK: cached is set. */
static enum err tell_row(const struct outbox_teller *teller, struct outbox_row *row, struct owners *told)
{
	struct link_event event;
	enum err err = link_event_decode(row->payload, row->payload_len, &event);
	if (err == OK)
		err = tell_link(teller, &event.link, told);
	else
		err = OK;
	row->cached = err == OK;
	return err;
}

void outbox_teller_tell(const struct outbox_teller *teller, struct outbox_batch *batch, int64_t until_steady_us)
{
	struct owners told = { .ids = mem_array(batch->count, sizeof(*told.ids)) };
	for (size_t i = 0; teller->generation && i < batch->count && in_time(teller, until_steady_us); i++) {
		if (batch->rows[i].cached)
			continue;
		enum err err = tell_row(teller, &batch->rows[i], &told);
		/*
		 * A key that Redis refuses to set (ERR_INTERNAL, logged by the pool) must not keep the others waiting.
		 */
		if (err == ERR_UNAVAILABLE || err == ERR_LIMIT)
			break;
	}
	free(told.ids);
}

static size_t cached_count(const struct outbox_batch *batch)
{
	size_t count = 0;
	for (size_t i = 0; i < batch->count; i++)
		count += batch->rows[i].cached;
	return count;
}

enum err outbox_teller_repair(const struct outbox_teller *teller, struct pg_conn *conn, int64_t until_steady_us,
                              bool *is_all_told)
{
	bool more = true;
	enum err err = OK;
	*is_all_told = false;
	while (err == OK && more && in_time(teller, until_steady_us)) {
		struct outbox_batch batch = { 0 };
		err = outbox_read_uncached(conn, OUTBOX_TELLER_ROWS_MAX, &batch);
		if (err != OK)
			break;
		outbox_teller_tell(teller, &batch, until_steady_us);
		size_t cached = cached_count(&batch);
		if (cached > 0)
			err = outbox_set_cached(conn, &batch);
		*is_all_told = err == OK && cached == batch.count && cached < OUTBOX_TELLER_ROWS_MAX;
		more = cached == OUTBOX_TELLER_ROWS_MAX;
		outbox_batch_clear(&batch);
	}
	return err;
}
