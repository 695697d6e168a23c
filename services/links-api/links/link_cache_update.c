#include "services/links-api/links/link_cache_update.h"

#include <unistd.h>

#include "lib/links/outbox.h"

/* Slugs that are deleted together. */
#define PORTION 1000
#define RETRY_US (20 * CLOCK_US_PER_MS)
#define TIMEOUT_US (LINK_CACHE_VALIDITY_HEARTBEAT_AGE_MS * CLOCK_US_PER_MS)

static bool update_link(const struct api *api, const struct link_cache_reservation *place,
                        const struct link *link)
{
	enum err err = link_cache_fill(api->cache, place, &link->entry);
	return err == OK || err == ERR_CONFLICT;
}

bool link_cache_update_is_relayed(const struct api *api, const char *const *slugs, size_t count)
{
	struct pg_conn *conn = NULL;
	bool are_cached = false;
	if (pg_pool_acquire(api->pg, &conn) != OK)
		return false;
	enum err err = outbox_are_cached(conn, slugs, count, &are_cached);
	pg_pool_release(api->pg, conn);
	return err == OK && are_cached;
}

void link_cache_update_link(const struct api *api, const struct link_cache_reservation *place,
                            const struct link *link)
{
	const char *slug = link->entry.slug;
	int64_t until_us = clock_steady_us(api->clock) + TIMEOUT_US;
	while (!update_link(api, place, link) && !link_cache_update_is_relayed(api, &slug, 1)) {
		if (clock_steady_us(api->clock) >= until_us) {
			log_warning(api->log, "link_cache_update_timed_out",
			            LOG_INT("link_id", link->entry.id));
			return;
		}
		usleep(RETRY_US);
	}
}

void link_cache_update_bulk(const struct api *api, const char *const *slugs, size_t count)
{
	int64_t until_us = clock_steady_us(api->clock) + TIMEOUT_US;
	if (count == 0)
		return;
	while (link_cache_delete(api->cache, slugs, count) != OK &&
	       !link_cache_update_is_relayed(api, slugs, count)) {
		if (clock_steady_us(api->clock) >= until_us) {
			log_warning(api->log, "link_cache_update_timed_out",
			            LOG_INT("links", (int64_t)count));
			return;
		}
		usleep(RETRY_US);
	}
}

static enum err read_aliases(const struct api *api, struct link_aliases *aliases)
{
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(api->pg, &conn);
	if (err == OK)
		err = link_aliases_read(aliases, conn);
	pg_pool_release(api->pg, conn);
	return err;
}

void link_cache_update_aliases(const struct api *api, struct link_aliases *aliases)
{
	const char *slugs[PORTION];
	int64_t until_us = clock_steady_us(api->clock) + TIMEOUT_US;
	if (aliases->link_count == 0)
		return;
	while (read_aliases(api, aliases) != OK) {
		if (clock_steady_us(api->clock) >= until_us) {
			log_warning(api->log, "link_cache_update_timed_out",
			            LOG_INT("links", (int64_t)aliases->link_count));
			return;
		}
		usleep(RETRY_US);
	}
	for (size_t at = 0; at < aliases->count;) {
		size_t count = 0;
		while (count < PORTION && at < aliases->count)
			slugs[count++] = aliases->rows[at++].slug;
		link_cache_update_bulk(api, slugs, count);
	}
}
