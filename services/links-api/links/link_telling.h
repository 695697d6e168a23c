/*
 * Safe from any thread. The last step before a change of a link is acknowledged, or shown by who finds that its writer
 * never came so far: Redis has the change and no list of before, or nothing old in it is believed any more. Who has read the acknowledgement, and looks a second later, must
 * not be led by the version before, nor find it on a list.
 *
 * As a rule two calls to Redis do it. When that fails, the relay tells the change or raises the generation, within a
 * quarter of a second if Redis is away; when there is no relay either (its holder was killed a moment ago), redirectors
 * stop believing Redis after LINK_CACHE_TRUST_BEAT_AGE_MS. So nobody waits for longer than that.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_TELLING_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_TELLING_H

#include "lib/links/link.h"
#include "lib/links/link_cache.h"
#include "services/links-api/api.h"

/* After the commit, which wrote the change into the outbox; place: reserved before it. Blocks: for worker threads. */
void link_telling_finish(const struct api *api, const struct link_cache_reservation *place, const struct link *link);

/*
 * As link_telling_finish, of many links that one transaction changed, and without places in Redis: the first visitor of
 * each fills it. owner_id: whose lists they are on, 0 = nobody's.
 */
void link_telling_finish_many(const struct api *api, int64_t owner_id, const char *const *slugs, size_t count);

#endif
