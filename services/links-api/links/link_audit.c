#include "services/links-api/links/link_audit.h"

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
                             const int64_t *link_ids, size_t count)
{
	const struct audit_entry entry = {
		.actor_id = r->user_id,
		.key_id = r->key_id,
		.action = link_audit_action(change),
		.subject_type = LINK_AUDIT_SUBJECT,
		.request_id = http_exchange_request_id(r->exchange),
	};
	return count == 0 ? OK : audit_store_add_bulk(conn, &entry, link_ids, count);
}
