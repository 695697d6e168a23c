#include "services/links-api/links/bulk_create.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/links-api/identity/authentication.h"
#include "services/links-api/links/link_reuse_store.h"

/* --- items with the same slug or URL --- */

/* Before the first round. */
static bool is_creation(const struct link_bulk_item *item)
{
	return item->outcome == BULK_PENDING && !item->is_claim;
}

static struct link_bulk_item *first_with_url(struct link_bulk *bulk, const char *url)
{
	struct link_bulk_item *item = bulk->items;
	while (!is_creation(item) || strcmp(item->input.original_url, url) != 0)
		item++;
	return item;
}

static bool has_key(const struct link_bulk_item *item, const char *key)
{
	char own[SLUG_KEY_SIZE];
	const struct link_write_new *wanted = &item->creation.requested;
	if (!is_creation(item) || !wanted->slug)
		return false;
	slug_key(wanted->slug, wanted->is_slug_exact, own);
	return strcmp(own, key) == 0;
}

static struct link_bulk_item *first_with_slug(struct link_bulk *bulk,
                                              const struct link_write_new *wanted)
{
	char key[SLUG_KEY_SIZE];
	struct link_bulk_item *item = bulk->items;
	slug_key(wanted->slug, wanted->is_slug_exact, key);
	while (!has_key(item, key))
		item++;
	return item;
}

void bulk_create_match(struct link_bulk *bulk)
{
	for (size_t i = 0; i < bulk->count; i++) {
		struct link_bulk_item *item = &bulk->items[i];
		if (!is_creation(item))
			continue;
		item->url_first = first_with_url(bulk, item->input.original_url);
		if (item->creation.requested.slug)
			item->slug_first = first_with_slug(bulk, &item->creation.requested);
	}
}

/* --- in the transaction --- */

enum err bulk_create_check_deadline(const struct link_bulk *bulk)
{
	return clock_steady_us(bulk->request->api->clock) < bulk->deadline_us ? OK
	                                                                      : ERR_UNAVAILABLE;
}

/* Of items without a requested slug, one lookup per URL is enough. */
static bool needs_lookup(const struct link_bulk_item *item)
{
	if (item->outcome != BULK_PENDING || !item->input.reuse)
		return false;
	return item->slug_first || !item->url_first->is_tried;
}

static enum err find_reusable(struct link_bulk *bulk, struct pg_conn *conn)
{
	struct link_reuse_store_lookup *lookups = mem_array(bulk->count, sizeof(*lookups));
	struct link_bulk_item **candidates =
		mem_array(bulk->count, sizeof(struct link_bulk_item *));
	size_t count = 0;
	for (size_t i = 0; i < bulk->count; i++)
		bulk->items[i].is_tried = false;
	for (size_t i = 0; i < bulk->count; i++) {
		struct link_bulk_item *item = &bulk->items[i];
		if (!needs_lookup(item))
			continue;
		lookups[count] =
			(struct link_reuse_store_lookup){ .original_url = item->input.original_url,
			                                  .slug = item->creation.requested.slug,
			                                  .link = &item->link };
		candidates[count++] = item;
		item->url_first->is_tried |= !item->slug_first;
	}
	enum err err = link_reuse_store_find(conn, bulk->request->workspace_id, bulk->request->tags,
	                                     lookups, count);
	for (size_t i = 0; err == OK && i < count; i++) {
		if (lookups[i].is_found) {
			candidates[i]->outcome = BULK_FOUND;
			candidates[i]->url_first->reusable = candidates[i];
		}
	}
	free(lookups);
	free(candidates);
	return err;
}

static bool is_first_of(const char *const *external_ids, size_t place)
{
	size_t at = 0;
	while (strcmp(external_ids[at], external_ids[place]) != 0)
		at++;
	return at == place;
}

/* A link that gets one of them at the same time makes the round fail, and all of it runs again. */
static enum err check_external_ids(struct link_bulk *bulk, struct pg_conn *conn)
{
	const char **wanted = mem_array(bulk->count, sizeof(*wanted));
	struct link_bulk_item **items = mem_array(bulk->count, sizeof(struct link_bulk_item *));
	struct link_find_name *found = mem_array(bulk->count, sizeof(*found));
	size_t count = 0;
	for (size_t i = 0; i < bulk->count; i++) {
		struct link_bulk_item *item = &bulk->items[i];
		if (!is_creation(item) || item->input.external_id[0] == '\0')
			continue;
		wanted[count] = item->input.external_id;
		items[count++] = item;
	}
	enum err err = link_find_external_ids(conn, bulk->request, bulk->request->workspace_id,
	                                      wanted, count, found);
	for (size_t i = 0; err == OK && i < count; i++) {
		items[i]->conflict.external_id = found[i];
		items[i]->conflict.external_id.is_used |= !is_first_of(wanted, i);
		if (items[i]->conflict.external_id.is_used)
			items[i]->outcome = BULK_TAKEN;
	}
	free(wanted);
	free(items);
	free(found);
	return err;
}

static bool is_limited(const struct link_bulk *bulk)
{
	return bulk->quota.state.left < (int64_t)bulk->count;
}

/* Others cannot reuse its link. As link_reuse_store_find has it. */
static bool cannot_be_reused(const struct link_bulk *bulk, const struct link_bulk_item *item)
{
	return item->input.starts_at_us > request_now_us(bulk->request) ||
	       (item->input.extras.features & ~LINK_FEATURE_FORWARD) != 0;
}

static void take_slug(struct link_bulk_item *item)
{
	item->outcome = BULK_TAKEN;
	item->conflict.slug.is_used = true;
}

/* Takes over the outcome of an earlier item with the same slug or URL. */
static void resolve(const struct link_bulk *bulk, struct link_bulk_item *item)
{
	const struct link_bulk_item *first = item->slug_first;
	const struct link_bulk_item *same = NULL;
	if (!first && item->input.reuse)
		same = item->url_first->reusable;
	if (first && first != item && item->input.reuse && bulk_create_has_link(first) &&
	    first->url_first == item->url_first &&
	    !(first->outcome == BULK_CREATED && cannot_be_reused(bulk, first)))
		same = first;
	if (same) {
		item->link = same->link;
		item->outcome = BULK_FOUND;
	} else if (first && first != item && first->outcome != BULK_PENDING) {
		take_slug(item);
	}
}

/* Once for all tries of the transaction. Links that exist already cost nothing. */
static enum err take_limit(struct link_bulk *bulk)
{
	int64_t cost = 0;
	for (size_t i = 0; i < bulk->count; i++) {
		if (bulk->items[i].outcome == BULK_PENDING)
			resolve(bulk, &bulk->items[i]);
		cost += bulk->items[i].outcome != BULK_FOUND;
	}
	if (cost == 0 || bulk->is_counted)
		return OK;
	bulk->is_counted = authentication_take_bulk(bulk->request, cost);
	bulk->is_rate_limited = !bulk->is_counted;
	return bulk->is_counted ? OK : ERR_LIMIT;
}

/* True if an earlier item of this round can still decide about this one. */
static bool must_wait(const struct link_bulk_item *item)
{
	if (item->slug_first)
		return item->slug_first != item;
	return item->input.reuse && item->url_first->is_tried;
}

/* Chooses the items of the next round, at most as many as the quota allows. */
static size_t choose_round(struct link_bulk *bulk)
{
	size_t most = is_limited(bulk) ? (size_t)bulk->quota.state.left : bulk->count;
	size_t chosen = 0;
	for (size_t i = 0; i < bulk->count; i++)
		bulk->items[i].is_tried = false;
	for (size_t i = 0; i < bulk->count; i++) {
		struct link_bulk_item *item = &bulk->items[i];
		if (item->outcome == BULK_PENDING)
			resolve(bulk, item);
		if (item->outcome != BULK_PENDING || chosen == most || must_wait(item))
			continue;
		item->url_first->is_tried |= !cannot_be_reused(bulk, item);
		bulk->round[chosen++] = &item->creation;
	}
	return chosen;
}

/* Sets the outcomes of the round. Returns the number of new links. */
static int64_t record_outcomes(struct link_bulk *bulk)
{
	int64_t count = 0;
	for (size_t i = 0; i < bulk->count; i++) {
		struct link_bulk_item *item = &bulk->items[i];
		if (item->outcome != BULK_PENDING || !item->creation.is_done)
			continue;
		item->outcome = item->creation.err == OK ? BULK_CREATED : BULK_NO_FREE_SLUG;
		if (item->creation.err == ERR_CONFLICT)
			take_slug(item);
		if (item->outcome == BULK_CREATED) {
			if (!cannot_be_reused(bulk, item))
				item->url_first->reusable = item;
			count++;
		}
	}
	return count;
}

static enum err create_round(struct link_bulk *bulk, struct pg_conn *conn, size_t chosen)
{
	enum err err = slug_allocator_create_bulk(conn, bulk->round, chosen, slug_random);
	if (err != OK)
		return err;
	return link_quota_use(bulk->request, conn, &bulk->quota, record_outcomes(bulk));
}

static void limit_pending(struct link_bulk *bulk)
{
	for (size_t i = 0; i < bulk->count; i++) {
		if (bulk->items[i].outcome == BULK_PENDING)
			bulk->items[i].outcome = BULK_OVER_QUOTA;
	}
}

/* Of items with a conflict: whose the slugs are, and which are used beside the external_id. */
static enum err find_slugs(struct link_bulk *bulk, struct pg_conn *conn)
{
	const char **slugs = mem_array(bulk->count, sizeof(*slugs));
	struct link_bulk_item **items = mem_array(bulk->count, sizeof(struct link_bulk_item *));
	struct link_find_name *found = mem_array(bulk->count, sizeof(*found));
	size_t count = 0;
	for (size_t i = 0; i < bulk->count; i++) {
		struct link_bulk_item *item = &bulk->items[i];
		if (item->outcome != BULK_TAKEN || !item->creation.requested.slug)
			continue;
		slugs[count] = item->creation.requested.slug;
		items[count++] = item;
	}
	enum err err = link_find_slugs(conn, bulk->request, bulk->request->workspace_id, slugs,
	                               count, found);
	for (size_t i = 0; err == OK && i < count; i++) {
		found[i].is_used |= items[i]->conflict.slug.is_used;
		items[i]->conflict.slug = found[i];
	}
	free(slugs);
	free(items);
	free(found);
	return err;
}

enum err bulk_create_run(struct link_bulk *bulk, struct pg_conn *conn)
{
	size_t chosen = 0;
	enum err err = find_reusable(bulk, conn);
	if (err == OK)
		err = check_external_ids(bulk, conn);
	if (err == OK)
		err = take_limit(bulk);
	while (err == OK && (chosen = choose_round(bulk)) > 0) {
		err = bulk_create_check_deadline(bulk);
		if (err == OK)
			err = create_round(bulk, conn, chosen);
	}
	if (err == OK)
		limit_pending(bulk);
	return err == OK ? find_slugs(bulk, conn) : err;
}
