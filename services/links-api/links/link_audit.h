/*
 * One thread at a time, as its request. Audit log entries about links. Call everything in the
 * transaction of the change.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_AUDIT_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_AUDIT_H

#include "lib/json/json.h"
#include "lib/links/link.h"
#include "services/links-api/http/request.h"

#define LINK_AUDIT_SUBJECT "link"

/* The action's name in the audit log: "link.create", "link.update" … */
const char *link_audit_action(enum link_change change);

/* link: its state after the change. Records slug, version and workspace. Errors of audit_store_add. */
enum err link_audit_add(const struct request *r, struct pg_conn *conn, enum link_change change,
                        const struct link *link) MUST_CHECK;

/* An entry names so many links of a bulk request at most; an id has up to 19 digits. */
#define LINK_AUDIT_IDS_MAX 100

/* The links of a bulk request with the same change. Begin with { 0 }. */
struct link_audit_bulk {
	int64_t count;
	/* Of the first ones. */
	int64_t ids[LINK_AUDIT_IDS_MAX];
};

void link_audit_bulk_include(struct link_audit_bulk *bulk, int64_t link_id);

/* {links, link_ids}: their number, and the ids of the first ones. The caller owns the result. */
struct json *link_audit_bulk_details(const struct link_audit_bulk *bulk);

/*
 * Records the same change of all these links as one entry. One link is the subject; of several the
 * subject is their workspace, and the details have their number and the ids. workspace_id: also
 * LINK_STORE_ANY_WORKSPACE, which is recorded as 0. Writes nothing without links. Errors of
 * audit_store_add.
 */
enum err link_audit_add_bulk(const struct request *r, struct pg_conn *conn, enum link_change change,
                             int64_t workspace_id, const struct link_audit_bulk *bulk) MUST_CHECK;

#endif
