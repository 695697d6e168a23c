#include "services/links-api/links/handled_link.h"

#include <stdio.h>
#include <string.h>

#include "lib/links/link_store.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/http/response.h"
#include "services/links-api/links/link_cache_update.h"
#include "services/links-api/links/link_conflict.h"
#include "services/links-api/links/link_json.h"

static enum http_progress answer_link(struct request *r, const struct handled_link *s)
{
	if (!response_add_etag(r, s->link.entry.version))
		return HTTP_COMPLETE;
	struct json *answer = json_new_object();
	json_set(answer, "link",
	         link_json_new(&s->link, &s->details, 0, r->api->base, request_now_us(r)));
	return response_json(r, 200, answer);
}

/* Says of both names if others have them: PostgreSQL has named one of them. */
static enum http_progress answer_conflict(struct request *r, const struct handled_link *s)
{
	const struct link *link = &s->link;
	struct link_conflict conflict = { 0 };
	struct pg_conn *conn = NULL;
	if (pg_pool_acquire(r->api->pg, &conn) == OK &&
	    link_conflict_find(conn, r, link->workspace_id, link->entry.slug, link->external_id,
	                       &conflict) != OK)
		conflict = (struct link_conflict){ 0 };
	pg_pool_release(r->api->pg, conn);
	conflict.slug.is_used &= conflict.slug.link_id != link->entry.id;
	conflict.external_id.is_used &= conflict.external_id.link_id != link->entry.id;
	conflict.slug.is_used |= s->is_slug_used;
	conflict.external_id.is_used |= s->is_external_id_used;
	return link_conflict_answer(r, &conflict);
}

enum http_progress handled_link_answer_error(struct request *r, const struct handled_link *s,
                                             enum err err)
{
	if (s->is_slug_used || s->is_external_id_used)
		return answer_conflict(r, s);
	/* With the current ETag: a deleted link cannot be fetched. */
	if (s->is_stale)
		return response_stale(r, s->link.entry.version, "link");
	if (s->is_beyond_key)
		return response_key_limited(r, "The link must keep a tag of this API key.");
	if (err == ERR_NOT_FOUND)
		return response_link_not_found(r, s->link.entry.state == LINK_STATE_DELETED);
	if (err == ERR_CONFLICT && s->conflict.detail)
		return response_conflict_of(r, "state", s->conflict.pointer, s->conflict.code,
		                            s->conflict.detail);
	if (err == ERR_CONFLICT)
		return response_conflict(r, "state", "",
		                         "the link was modified concurrently; retry");
	return response_failure(r, err);
}

enum err handled_link_read_details(const struct request *r, struct pg_conn *conn,
                                   struct handled_link *s)
{
	link_aliases_clear(&s->details.aliases);
	link_aliases_want(&s->details.aliases, &s->link);
	return link_details_read(&s->details, r, conn, &s->link.entry.id, 1);
}

void handled_link_clear(struct handled_link *s)
{
	link_details_clear(&s->details);
	link_history_clear_extras(&s->before);
}

enum http_progress handled_link_answer(struct request *r, struct handled_link *s, enum err err)
{
	enum http_progress progress =
		err == OK ? answer_link(r, s) : handled_link_answer_error(r, s, err);
	handled_link_clear(s);
	return progress;
}

enum err handled_link_read(const struct request *r, struct pg_conn *conn, struct handled_link *s)
{
	enum err err = link_store_get(conn, request_path_id(r), request_workspaces(r), &s->link);
	err = request_check_link(r, err, &s->link);
	if (err == OK && s->link.entry.state == LINK_STATE_DELETED)
		err = ERR_NOT_FOUND;
	return err == OK ? handled_link_read_details(r, conn, s) : err;
}

size_t handled_link_names(const struct handled_link *s,
                          const char *names[static HANDLED_LINK_NAMES_MAX])
{
	size_t count = 0;
	names[count++] = s->link.entry.slug;
	for (size_t i = 0; i < s->details.aliases.count; i++)
		names[count++] = s->details.aliases.rows[i].slug;
	for (size_t i = 0; i < s->ended.count; i++)
		names[count++] = s->ended.names[i].slug;
	return count;
}

void handled_link_update_cache(const struct request *r, const struct handled_link *s)
{
	const char *names[HANDLED_LINK_NAMES_MAX];
	size_t count = handled_link_names(s, names);
	link_cache_update_bulk(r->api, names + 1, count - 1);
	link_cache_update_link(r->api, &s->place, &s->link);
}
