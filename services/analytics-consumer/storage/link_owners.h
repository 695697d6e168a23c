/*
 * One thread at a time. The owners and tags of the links of a batch, which VisitEvent carries. They
 * are read from the table links when the batch is stored, so a repeated event may have newer ones.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_LINK_OWNERS_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_LINK_OWNERS_H

#include <stddef.h>

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"
#include "services/analytics-consumer/facts/visit.h"

struct link_owners;

/* visits_max: the most visits that a call receives. */
struct link_owners *link_owners_new(size_t visits_max);
void link_owners_free(struct link_owners *owners);

/*
 * Sets event.owner_id and event.tags of every visit; a link that is purged has neither. The tags
 * are valid until the next call. Errors as pg_conn_query.
 */
enum err link_owners_find(struct link_owners *owners, struct pg_conn *conn, struct visit *visits,
                          size_t count) MUST_CHECK;

#endif
