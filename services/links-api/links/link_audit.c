#include "services/links-api/links/link_audit.h"

#include "lib/links/link_store.h"
#include "services/links-api/accounts/audit_store.h"

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
	if (link->owner_id)
		json_set_int(details, "owner_id", link->owner_id);
	enum err err = request_audit(r, conn, link_audit_action(change), LINK_AUDIT_SUBJECT,
	                             link->entry.id, details);
	json_free(details);
	return err;
}

enum err link_audit_add_bulk(const struct request *r, struct pg_conn *conn, enum link_change change,
                             int64_t owner_id, int64_t link_id, int64_t count)
{
	const char *action = link_audit_action(change);
	if (count == 0)
		return OK;
	if (count == 1)
		return request_audit(r, conn, action, LINK_AUDIT_SUBJECT, link_id, NULL);
	struct json *details = json_new_object();
	json_set_int(details, "links", count);
	int64_t owner = owner_id == LINK_STORE_ANY_OWNER ? 0 : owner_id;
	enum err err = request_audit(r, conn, action, AUDIT_STORE_USER, owner, details);
	json_free(details);
	return err;
}
