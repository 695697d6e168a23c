#include "services/links-api/outbox_teller.h"

#include "lib/links/link_event.h"

static bool in_time(const struct outbox_teller *teller, int64_t until_steady_us)
{
	return clock_steady_us(teller->clock) < until_steady_us;
}

/* OK: cached is set. */
static enum err tell_row(const struct outbox_teller *teller, struct outbox_row *row)
{
	struct link_event event;
	const struct link_cache_trusted to = { .server = teller->server, .generation = teller->generation };
	enum err err = link_event_decode(row->payload, row->payload_len, &event);
	if (err == OK)
		err = link_cache_tell(teller->cache, &to, &event.link.entry);
	else
		err = OK;
	if (err == ERR_CONFLICT)
		err = OK;
	row->cached = err == OK;
	return err;
}

void outbox_teller_tell(const struct outbox_teller *teller, struct outbox_batch *batch, int64_t until_steady_us)
{
	for (size_t i = 0; teller->generation && i < batch->count && in_time(teller, until_steady_us); i++) {
		if (batch->rows[i].cached)
			continue;
		enum err err = tell_row(teller, &batch->rows[i]);
		/* A key that Redis refuses to set (ERR_INTERNAL, logged by the pool) must not keep the others waiting. */
		if (err == ERR_UNAVAILABLE || err == ERR_LIMIT)
			return;
	}
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
