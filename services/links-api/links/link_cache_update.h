/*
 * Safe from any thread. Updates Redis after a change of a link is committed and before it is
 * acknowledged. A client that has read the acknowledgement must not, a second later, be redirected
 * by the old version. A GET of a link also calls this when it is about to show a change that has
 * not reached Redis, because the process that wrote it was killed.
 *
 * Usually one call to Redis is enough. If it fails, the function retries until one of these has
 * made Redis safe:
 *   - The outbox relay has written the change to Redis, or raised the generation, which invalidates
 *     all of Redis. This takes a quarter of a second if Redis is down.
 *   - LINK_CACHE_VALIDITY_HEARTBEAT_AGE_MS has passed. If no relay runs either (it was killed a
 * moment ago), redirectors stop using Redis after this time. The function therefore never waits
 *     longer.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_CACHE_UPDATE_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_CACHE_UPDATE_H

#include "lib/links/link.h"
#include "lib/links/link_aliases.h"
#include "lib/links/link_cache.h"
#include "services/links-api/http/api.h"

/*
 * Call after the commit that also wrote the change to the outbox. place: reserved before that
 * commit. Blocks: for worker threads.
 */
void link_cache_update_link(const struct api *api, const struct link_cache_reservation *place,
                            const struct link *link);

/*
 * As link_cache_update_link, for all links that one transaction changed. Deletes their entries
 * instead of writing them; the next lookup of each link fills the cache.
 */
void link_cache_update_bulk(const struct api *api, const char *const *slugs, size_t count);

/* The same for the aliases of such links, which it reads first. Nothing if none was wanted. */
void link_cache_update_aliases(const struct api *api, struct link_aliases *aliases);

/* True: Redis has the changes of all these links, as far as PostgreSQL says. Blocks. */
bool link_cache_update_is_relayed(const struct api *api, const char *const *slugs, size_t count);

#endif
