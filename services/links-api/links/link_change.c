#include "services/links-api/links/link_change.h"

#include <stdio.h>
#include <string.h>

#include "services/links-api/links/utm.h"

static bool tags_equal(const struct link_tags *a, const struct link_tags *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->tag[i], b->tag[i]) != 0)
			return false;
	return true;
}

static bool links_equal(const struct link *a, const struct link *b)
{
	const struct link_entry *x = &a->entry;
	const struct link_entry *y = &b->entry;
	return x->state == y->state && x->redirect_status == y->redirect_status &&
	       x->starts_at_us == y->starts_at_us && x->expires_at_us == y->expires_at_us &&
	       strcmp(x->slug, y->slug) == 0 && strcmp(a->external_id, b->external_id) == 0 &&
	       strcmp(x->original_url, y->original_url) == 0 &&
	       strcmp(x->expired_url, y->expired_url) == 0 && strcmp(a->title, b->title) == 0 &&
	       x->extras_len == y->extras_len && memcmp(x->extras, y->extras, x->extras_len) == 0 &&
	       tags_equal(&a->tags, &b->tags);
}

static void apply_members(const struct link_request *request, struct link *link)
{
	struct link_entry *entry = &link->entry;
	if (request->members & LINK_REQUEST_SLUG && strcmp(entry->slug, request->slug) != 0) {
		memcpy(entry->slug, request->slug, sizeof(entry->slug));
		entry->is_slug_exact = request->is_slug_exact;
	}
	if (request->members & LINK_REQUEST_EXTERNAL_ID)
		memcpy(link->external_id, request->external_id, sizeof(link->external_id));
	if (request->members & LINK_REQUEST_ORIGINAL_URL)
		snprintf(entry->original_url, sizeof(entry->original_url), "%s",
		         request->original_url);
	if (request->members & LINK_REQUEST_REDIRECT_STATUS)
		entry->redirect_status = request->redirect_status;
	if (request->members & LINK_REQUEST_STARTS_AT)
		entry->starts_at_us = request->starts_at_us;
	if (request->members & LINK_REQUEST_EXPIRES_AT)
		entry->expires_at_us = request->expires_at_us;
	if (request->members & LINK_REQUEST_EXPIRED_URL)
		snprintf(entry->expired_url, sizeof(entry->expired_url), "%s",
		         request->expired_url ? request->expired_url : "");
	if (request->members & LINK_REQUEST_TITLE)
		memcpy(link->title, request->title, sizeof(link->title));
	if (request->members & LINK_REQUEST_STATE)
		entry->state = request->state;
}

static void remove_tag(struct link_tags *tags, size_t at)
{
	tags->count--;
	memmove(tags->tag[at], tags->tag[at + 1], (tags->count - at) * LINK_TAG_SIZE);
}

/* First removes tags, then adds others at the end. False: there would be too many. */
static bool apply_tags(const struct link_request *request, struct link_tags *tags)
{
	const struct link_tags *removed = request->removed_tags, *added = &request->tags;
	if (request->members & LINK_REQUEST_TAGS)
		*tags = request->tags;
	for (size_t i = 0; removed && i < removed->count; i++) {
		size_t at = link_tags_find(tags, removed->tag[i]);
		if (at < tags->count)
			remove_tag(tags, at);
	}
	for (size_t i = 0; (request->members & LINK_REQUEST_ADD_TAGS) && i < added->count; i++) {
		if (link_tags_find(tags, added->tag[i]) < tags->count)
			continue;
		if (tags->count == LINK_TAGS_MAX)
			return false;
		memcpy(tags->tag[tags->count++], added->tag[i], LINK_TAG_SIZE);
	}
	return true;
}

static enum link_change change_of(enum link_state before, enum link_state after)
{
	if (before != LINK_STATE_DISABLED && after == LINK_STATE_DISABLED)
		return LINK_CHANGE_DISABLED;
	if (before == LINK_STATE_DISABLED && after == LINK_STATE_ACTIVE)
		return LINK_CHANGE_ENABLED;
	return LINK_CHANGE_UPDATED;
}

/* Only the requested times: a change of the title is never refused for them. */
static bool has_valid_start(const struct link_request *request, const struct link *edited,
                            struct link_change_conflict *conflict)
{
	const struct link_entry *entry = &edited->entry;
	bool sets_start = request->members & LINK_REQUEST_STARTS_AT;
	bool sets_end = request->members & LINK_REQUEST_EXPIRES_AT;
	if (sets_start && edited->type == LINK_TYPE_TEMPORARY && entry->starts_at_us != 0)
		*conflict = (struct link_change_conflict){ "/starts_at", "not-allowed",
			                                   "cannot be set for temporary links" };
	else if ((sets_start || sets_end) && entry->expires_at_us != 0 &&
	         entry->starts_at_us >= entry->expires_at_us)
		*conflict = sets_start
		                    ? (struct link_change_conflict){ "/starts_at", "order",
			                                             "must be before expires_at" }
		                    : (struct link_change_conflict){ "/expires_at", "order",
			                                             "must be after starts_at" };
	else
		return true;
	return false;
}

static enum err apply_utm(const struct link_request *request, struct link_entry *entry,
                          struct link_change_conflict *conflict)
{
	enum err err = request->utm ? utm_apply(request->utm, entry->original_url,
	                                        request->destination_bytes_max, entry->original_url)
	                            : OK;
	if (err == ERR_LIMIT)
		*conflict = (struct link_change_conflict){
			"/original_url", "too-many-bytes",
			"would be too long with these utm parameters"
		};
	else if (err != OK)
		*conflict = (struct link_change_conflict){
			"/original_url", "url-scheme", "leads to an app and has no utm parameters"
		};
	return err == OK ? OK : ERR_CONFLICT;
}

static enum err apply_extras(const struct link_request *request, struct link *link,
                             struct link_change_conflict *conflict)
{
	enum err err = link_extras_request_apply(&request->extras, link);
	if (err != ERR_LIMIT)
		return err;
	*conflict = (struct link_change_conflict){ "", "too-many-bytes",
		                                   LINK_EXTRAS_REQUEST_TOO_LARGE };
	return ERR_CONFLICT;
}

enum err link_change_edit(const void *arg, int64_t now_us, struct link *link,
                          enum link_change *change, struct link_change_conflict *conflict)
{
	const struct link_request *request = arg;
	if (link->entry.state == LINK_STATE_DELETED)
		return ERR_NOT_FOUND;
	struct link edited = *link;
	apply_members(request, &edited);
	enum err err = apply_utm(request, &edited.entry, conflict);
	if (err == OK)
		err = apply_extras(request, &edited, conflict);
	if (err != OK)
		return err;
	if (!apply_tags(request, &edited.tags)) {
		*conflict =
			(struct link_change_conflict){ "/add_tags", "too-many",
			                               "would give the link more than 20 tags" };
		return ERR_CONFLICT;
	}
	/* The janitor stores EXPIRED; a new expires_at reverts it. */
	bool is_unexpired = edited.entry.expires_at_us == 0 || edited.entry.expires_at_us > now_us;
	if (edited.entry.state == LINK_STATE_EXPIRED && is_unexpired)
		edited.entry.state = LINK_STATE_ACTIVE;
	if (request->members & LINK_REQUEST_STATE && request->state == LINK_STATE_ACTIVE &&
	    !is_unexpired) {
		*conflict = (struct link_change_conflict){
			"/state", "expired",
			"cannot be active after expires_at; set expires_at as well"
		};
		return ERR_CONFLICT;
	}
	if (edited.type == LINK_TYPE_TEMPORARY && edited.entry.expires_at_us == 0) {
		*conflict = (struct link_change_conflict){ "/expires_at", "required",
			                                   "is required for temporary links" };
		return ERR_CONFLICT;
	}
	if (!has_valid_start(request, &edited, conflict))
		return ERR_CONFLICT;
	*change = links_equal(&edited, link) ? LINK_CHANGE_NOTHING
	                                     : change_of(link->entry.state, edited.entry.state);
	*link = edited;
	return OK;
}

enum err link_change_delete(const void *arg, int64_t now_us, struct link *link,
                            enum link_change *change, struct link_change_conflict *conflict)
{
	(void)arg;
	(void)now_us;
	(void)conflict;
	if (link->entry.state == LINK_STATE_DELETED)
		return ERR_NOT_FOUND;
	link->state_before_deletion = link->entry.state;
	link->entry.state = LINK_STATE_DELETED;
	*change = LINK_CHANGE_DELETED;
	return OK;
}

enum err link_change_touch(const void *arg, int64_t now_us, struct link *link,
                           enum link_change *change, struct link_change_conflict *conflict)
{
	(void)arg;
	(void)now_us;
	(void)conflict;
	*change = LINK_CHANGE_UPDATED;
	return link->entry.state == LINK_STATE_DELETED ? ERR_NOT_FOUND : OK;
}

enum err link_change_purge(const void *arg, int64_t now_us, struct link *link,
                           enum link_change *change, struct link_change_conflict *conflict)
{
	(void)arg;
	(void)now_us;
	(void)link;
	(void)conflict;
	*change = LINK_CHANGE_PURGED;
	return OK;
}

enum err link_change_restore(const void *arg, int64_t now_us, struct link *link,
                             enum link_change *change, struct link_change_conflict *conflict)
{
	(void)arg;
	(void)now_us;
	if (link->entry.state != LINK_STATE_DELETED) {
		*conflict = (struct link_change_conflict){ "", "state", "the link is not deleted" };
		return ERR_CONFLICT;
	}
	bool is_known = link->state_before_deletion != 0;
	link->entry.state = is_known ? link->state_before_deletion : LINK_STATE_ACTIVE;
	link->state_before_deletion = (enum link_state)0;
	*change = LINK_CHANGE_RESTORED;
	return OK;
}

bool link_change_retag(struct link *link, const char *from, const char *to)
{
	struct link_tags *tags = &link->tags;
	size_t at = link_tags_find(tags, from);
	if (at == tags->count)
		return false;
	if (to && link_tags_find(tags, to) == tags->count) {
		snprintf(tags->tag[at], LINK_TAG_SIZE, "%s", to);
		return true;
	}
	remove_tag(tags, at);
	return true;
}
