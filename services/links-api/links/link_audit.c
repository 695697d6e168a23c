#include "services/links-api/links/link_audit.h"

#include "lib/links/link_store.h"
#include "services/links-api/identity/audit_store.h"

static const char *const actions[] = {
	[LINK_CHANGE_CREATED] = "link.create",   [LINK_CHANGE_UPDATED] = "link.update",
	[LINK_CHANGE_DISABLED] = "link.disable", [LINK_CHANGE_ENABLED] = "link.enable",
	[LINK_CHANGE_EXPIRED] = "link.expire",   [LINK_CHANGE_DELETED] = "link.delete",
	[LINK_CHANGE_RESTORED] = "link.restore", [LINK_CHANGE_CLAIMED] = "link.claim",
	[LINK_CHANGE_PURGED] = "link.purge",
};

const char *link_audit_action(enum link_change change)
{
	return actions[change];
}

enum err link_audit_add(const struct request *r, struct pg_conn *conn, enum link_change change,
                        const struct link *link)
{
	struct json *details = json_new_object();
	json_set_text(details, "slug", link->entry.slug);
	json_set_int(details, "version", link->entry.version);
	if (link->workspace_id)
		json_set_int(details, "workspace_id", link->workspace_id);
	enum err err = audit_store_record(r, conn, link_audit_action(change), LINK_AUDIT_SUBJECT,
	                                  link->entry.id, details);
	json_free(details);
	return err;
}

void link_audit_bulk_include(struct link_audit_bulk *bulk, int64_t link_id)
{
	if (bulk->count < LINK_AUDIT_IDS_MAX)
		bulk->ids[bulk->count] = link_id;
	bulk->count++;
}

struct json *link_audit_bulk_details(const struct link_audit_bulk *bulk)
{
	struct json *details = json_new_object();
	struct json *ids = json_new_array();
	for (int64_t i = 0; i < bulk->count && i < LINK_AUDIT_IDS_MAX; i++)
		json_append_int(ids, bulk->ids[i]);
	json_set_int(details, "links", bulk->count);
	json_set(details, "link_ids", ids);
	return details;
}

enum err link_audit_add_bulk(const struct request *r, struct pg_conn *conn, enum link_change change,
                             int64_t workspace_id, const struct link_audit_bulk *bulk)
{
	const char *action = link_audit_action(change);
	if (bulk->count == 0)
		return OK;
	if (bulk->count == 1)
		return audit_store_record(r, conn, action, LINK_AUDIT_SUBJECT, bulk->ids[0], NULL);
	struct json *details = link_audit_bulk_details(bulk);
	int64_t subject_id = workspace_id == LINK_STORE_ANY_WORKSPACE ? 0 : workspace_id;
	enum err err =
		audit_store_record(r, conn, action, AUDIT_STORE_WORKSPACE, subject_id, details);
	json_free(details);
	return err;
}
