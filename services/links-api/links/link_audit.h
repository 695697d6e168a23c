/*
 * One thread at a time, as its request. Audit log entries about links. Call everything in the
 * transaction of the change.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_AUDIT_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_AUDIT_H

#include "lib/links/link.h"
#include "services/links-api/request.h"

#define LINK_AUDIT_SUBJECT "link"

/* The action's name in the audit log: "link.create", "link.update" … */
const char *link_audit_action(enum link_change change);

/* link: its state after the change. Records slug, version and owner. Errors of audit_store_add. */
enum err link_audit_add(const struct request *r, struct pg_conn *conn, enum link_change change,
                        const struct link *link) MUST_CHECK;

/*
 * Records the same change of count links of a bulk request as one entry. Of one link it says which;
 * of several the subject is their owner, and the details have their number. owner_id: also
 * LINK_STORE_ANY_OWNER, which is recorded as 0. Writes nothing if count is 0. Errors of
 * audit_store_add.
 */
enum err link_audit_add_bulk(const struct request *r, struct pg_conn *conn, enum link_change change,
                             int64_t owner_id, int64_t link_id, int64_t count) MUST_CHECK;

#endif
