#include "services/links-api/lists/link_list_change.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/net/pg_transaction.h"
#include "services/links-api/accounts/audit_store.h"
#include "services/links-api/answer.h"
#include "services/links-api/links/link_audit.h"
#include "services/links-api/links/link_change.h"
#include "services/links-api/links/link_many_store.h"
#include "services/links-api/links/link_telling.h"
#include "services/links-api/lists/link_list_store.h"
#include "services/links-api/member.h"

/* What is wanted, and what becomes of it. */
struct errand {
	const struct request *request;
	struct link_query query;
	struct link_request wish;
	struct link *links; /* those that the filter means */
	size_t matched;
	struct link_many_store_change *changes;
	size_t changed;
};

static void errand_free(struct errand *errand)
{
	free(errand->links);
	free(errand->changes);
	free(errand);
}

/* --- what is wanted --- */

static void refuse_members(const struct json *body, struct http_problem_fields *wrong)
{
	static const char *const single[] = { "redirect_status", "expires_at", "expired_url", "title" };
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++) {
		if (!json_get(body, single[i]))
			continue;
		member_pointer(single[i], pointer);
		http_problem_add_field(wrong, pointer, "cannot be changed of many links at once");
	}
}

/* False: the request has been answered. */
static bool read_wish(struct request *r, struct errand *errand)
{
	errand->request = r;
	struct http_problem_fields wrong = { 0 };
	struct json *body = request_read_body(r);
	if (!body)
		return false;
	enum err err =
		link_request_read(body, LINK_REQUEST_CHANGE, &r->api->base, request_now_us(r), &errand->wish, &wrong);
	refuse_members(body, &wrong);
	json_free(body);
	if (link_query_read(http_exchange_query(r->exchange), LINK_QUERY_CHANGE, r->user_id, &errand->query, &wrong) !=
	    OK)
		err = ERR_INVALID;
	if (err == OK && wrong.count == 0)
		return true;
	answer_wrong_fields(r, &wrong);
	return false;
}

/* --- in the transaction --- */

/* A link whose state rules the change out is one that is not changed. */
static void edit(const struct request *r, struct errand *errand)
{
	struct link_change_refusal refusal;
	int64_t now_us = request_now_us(r);
	errand->changes = mem_array(errand->matched, sizeof(*errand->changes));
	for (size_t i = 0; i < errand->matched; i++) {
		struct link_many_store_change *next = &errand->changes[errand->changed];
		next->link = errand->links[i];
		enum err err = link_change_edit(&errand->wish, now_us, &next->link, &next->change, &refusal);
		if (err == OK && next->change != LINK_CHANGE_NOTHING)
			errand->changed++;
	}
}

static enum err audit_kind(const struct request *r, struct pg_conn *conn, const struct errand *errand,
                           enum link_change change)
{
	int64_t ids[LINK_MANY_STORE_MAX];
	size_t count = 0;
	for (size_t i = 0; i < errand->changed; i++) {
		if (errand->changes[i].change == change)
			ids[count++] = errand->changes[i].link.entry.id;
	}
	const struct audit_entry entry = {
		.actor_id = r->user_id,
		.key_id = r->key_id,
		.action = link_audit_action(change),
		.subject_type = LINK_AUDIT_SUBJECT,
		.request_id = http_exchange_request_id(r->exchange),
	};
	return audit_store_add_many(conn, &entry, ids, count);
}

static enum err audit(const struct request *r, struct pg_conn *conn, const struct errand *errand)
{
	static const enum link_change kinds[] = { LINK_CHANGE_UPDATED, LINK_CHANGE_DISABLED, LINK_CHANGE_ENABLED };
	enum err err = OK;
	for (size_t i = 0; err == OK && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		err = audit_kind(r, conn, errand, kinds[i]);
	return err;
}

static enum err change_on(void *ctx, struct pg_conn *conn)
{
	struct errand *errand = ctx;
	const struct request *r = errand->request;
	enum err err = link_list_store_lock(conn, &errand->query, errand->links, LINK_MANY_STORE_MAX, &errand->matched);
	if (err != OK)
		return err;
	edit(r, errand);
	err = link_many_store_write(conn, errand->changes, errand->changed);
	return err == OK ? audit(r, conn, errand) : err;
}

/* --- afterwards --- */

static int by_owner(const void *a, const void *b)
{
	const struct link_many_store_change *x = a, *y = b;
	return (x->link.owner_id > y->link.owner_id) - (x->link.owner_id < y->link.owner_id);
}

/* Each owner has lists of his own. */
static void tell(const struct request *r, struct errand *errand)
{
	const char *slugs[LINK_MANY_STORE_MAX];
	qsort(errand->changes, errand->changed, sizeof(*errand->changes), by_owner);
	for (size_t i = 0; i < errand->changed;) {
		int64_t owner_id = errand->changes[i].link.owner_id;
		size_t count = 0;
		while (i < errand->changed && errand->changes[i].link.owner_id == owner_id)
			slugs[count++] = errand->changes[i++].link.entry.slug;
		link_telling_finish_many(r->api, owner_id, slugs, count);
	}
}

static enum http_progress answer_refused(struct request *r, const struct errand *errand, enum err err)
{
	if (err == ERR_LIMIT && errand->matched > 0)
		return answer_problem(r, 422, "too-many-links",
		                      "The filter means more than 1,000 links; nothing was changed.");
	if (err == ERR_LIMIT)
		return answer_problem(r, 422, "too-slow",
		                      "This search takes too long among so many links; ask for something rarer.");
	if (err == ERR_CONFLICT)
		return answer_conflict(r, "state", "", "some links were changed at the same time");
	return answer_failure(r, err);
}

static enum http_progress change(struct request *r, struct errand *errand)
{
	errand->links = mem_array(LINK_MANY_STORE_MAX, sizeof(*errand->links));
	enum err err = pg_transaction_run(r->api->pg, change_on, errand);
	if (err != OK)
		return answer_refused(r, errand, err);
	tell(r, errand);
	struct json *answer = json_new_object();
	json_set_int(answer, "matched", (int64_t)errand->matched);
	json_set_int(answer, "changed", (int64_t)errand->changed);
	return answer_json(r, 200, answer);
}

enum http_progress link_list_change_patch(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct errand *errand = mem_zero(sizeof(*errand));
	enum http_progress progress = HTTP_ANSWERED;
	if (read_wish(r, errand)) {
		if (errand->query.owner_id != r->user_id && !request_is_admin(r))
			progress = answer_problem(r, 403, "forbidden", "Links of others are for administrators.");
		else
			progress = change(r, errand);
	}
	errand_free(errand);
	return progress;
}
