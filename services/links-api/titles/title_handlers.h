/*
 * POST /api/page-titles: the title of the page at a URL that a link may lead to. lib/fetch requests it;
 * each redirect is judged as a destination again. A few threads of their own do that, so pages that do
 * not answer take no worker from other requests, and one account takes at most half of these threads.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_TITLES_TITLE_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_TITLES_TITLE_HANDLERS_H

#include "lib/base/worker_pool.h"

/* One thread, before and after all requests; stop waits for those that run. NULL is allowed. */
struct worker_pool *title_handlers_start(void);
void title_handlers_stop(struct worker_pool *workers);

#endif
