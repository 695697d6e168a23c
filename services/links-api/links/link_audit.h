/*
 * One thread at a time, as its request. What somebody did to a link, for the audit log, in the change's transaction.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_AUDIT_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_AUDIT_H

#include "lib/links/link.h"
#include "services/links-api/request.h"

#define LINK_AUDIT_SUBJECT "link"

/* "link.create", "link.update" … */
const char *link_audit_action(enum link_change change);

/* link is as it is after the change; of it are told slug, version and owner. Errors of audit_store_add. */
enum err link_audit_add(const struct request *r, struct pg_conn *conn, enum link_change change,
                        const struct link *link) MUST_CHECK;

/* The same change of many links, told by their ids alone. ERR_LIMIT: more than AUDIT_STORE_SUBJECTS_MAX. */
enum err link_audit_add_many(const struct request *r, struct pg_conn *conn, enum link_change change,
                             const int64_t *link_ids, size_t count) MUST_CHECK;

#endif
