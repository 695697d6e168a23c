/*
 * Blocks single links of anybody: redirectors answer 451 within a second, and the owner sees the
 * reason. Nothing else of the link changes, and its owner can change all but that.
 */
#include <stdio.h>

#include "lib/links/link_store.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/links/link_audit.h"
#include "services/links-api/links/link_cache_update.h"
#include "services/links-api/links/link_history.h"
#include "services/links-api/links/link_write.h"

struct block {
	const struct request *request;
	/* "" ends the block. */
	char reason[LINK_BLOCKED_REASON_SIZE];
	/* Afterwards. */
	struct link link;
	struct link_cache_reservation place;
};

static enum err audit(const struct block *b, struct pg_conn *conn)
{
	struct json *details = json_new_object();
	json_set_text(details, "slug", b->link.entry.slug);
	json_set_int(details, "version", b->link.entry.version);
	if (b->reason[0] != '\0')
		json_set_text(details, "reason", b->reason);
	enum err err = audit_store_record(b->request, conn,
	                                  b->reason[0] != '\0' ? "link.block" : "link.unblock",
	                                  LINK_AUDIT_SUBJECT, b->link.entry.id, details);
	json_free(details);
	return err;
}

/* Whoever blocks a link has dealt with what was reported of it. */
static enum err close_reports(const struct block *b, struct pg_conn *conn)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, b->link.entry.id);
	pg_params_int(&params, b->request->user_id);
	return pg_conn_query(
		conn,
		"UPDATE abuse_reports SET closed_at = clock_timestamp(), closed_by = $2 "
		"WHERE link_id = $1 AND closed_at IS NULL",
		&params, NULL);
}

static enum err write_block(void *ctx, struct pg_conn *conn)
{
	struct block *b = ctx;
	char key[SLUG_KEY_SIZE];
	enum err err = link_store_lock(conn, request_path_id(b->request), LINK_STORE_ANY_WORKSPACE,
	                               &b->link);
	if (err == OK)
		err = link_history_begin(b->request, conn);
	if (err != OK)
		return err;
	err = link_write_block(conn, b->link.entry.id, b->reason, &b->link);
	if (err == OK)
		err = audit(b, conn);
	else if (err == ERR_NOT_FOUND)
		err = OK;
	if (err == OK && b->reason[0] != '\0')
		err = close_reports(b, conn);
	link_key(&b->link.entry, key);
	if (err == OK)
		link_cache_reserve_for_change(b->request->api->cache, key, &b->place);
	return err;
}

static enum err change(struct block *b)
{
	const struct api *api = b->request->api;
	struct link_aliases aliases = { 0 };
	enum err err = pg_pool_transact(api->pg, write_block, b);
	if (err == OK) {
		link_cache_update_link(api, &b->place, &b->link);
		link_aliases_want(&aliases, &b->link);
		link_cache_update_aliases(api, &aliases);
		link_aliases_clear(&aliases);
	}
	return err;
}

enum http_progress link_block_put(void *ctx, struct http_exchange *x)
{
	(void)x;
	static const char *const names[] = { "reason" };
	struct request *r = ctx;
	struct block b = { .request = r };
	struct http_problem_fields wrong = { 0 };
	struct json *body = request_body_read(r);
	if (!body)
		return HTTP_COMPLETE;
	member_reject_unknown(body, names, 1, &wrong);
	const char *reason = member_text_of(body, "reason", true, &wrong);
	if (reason && member_is_line(reason, 1, LINK_BLOCKED_REASON_CHARS_MAX, "/reason", &wrong))
		snprintf(b.reason, sizeof(b.reason), "%s", reason);
	json_free(body);
	if (wrong.count > 0)
		return response_invalid_fields(r, &wrong);
	enum err err = change(&b);
	if (err != OK)
		return err == ERR_NOT_FOUND ? response_not_found(r) : response_failure(r, err);
	return response_no_content(r);
}

enum http_progress link_block_delete(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct block b = { .request = r };
	return response_deleted(r, change(&b));
}
