#include "services/links-api/links/link_batch_making.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/links-api/links/link_audit.h"
#include "services/links-api/links/link_reuse_store.h"

/* --- who wishes for the same --- */

static int compare_places(const struct link_batch_item *a, const struct link_batch_item *b)
{
	return (a > b) - (a < b);
}

static int compare_urls(const void *a, const void *b)
{
	const struct link_batch_item *x = *(struct link_batch_item *const *)a, *y = *(struct link_batch_item *const *)b;
	int order = strcmp(x->wish.original_url, y->wish.original_url);
	return order != 0 ? order : compare_places(x, y);
}

static int compare_slugs(const void *a, const void *b)
{
	const struct link_batch_item *x = *(struct link_batch_item *const *)a, *y = *(struct link_batch_item *const *)b;
	int order = strcmp(x->issued.wanted.slug, y->issued.wanted.slug);
	return order != 0 ? order : compare_places(x, y);
}

static void match_urls(struct link_batch_item **wishes, size_t count)
{
	qsort(wishes, count, sizeof(struct link_batch_item *), compare_urls);
	for (size_t i = 0; i < count; i++) {
		bool is_same = i > 0 && strcmp(wishes[i - 1]->wish.original_url, wishes[i]->wish.original_url) == 0;
		wishes[i]->url_first = is_same ? wishes[i - 1]->url_first : wishes[i];
	}
}

static void match_slugs(struct link_batch_item **wishes, size_t count)
{
	qsort(wishes, count, sizeof(struct link_batch_item *), compare_slugs);
	for (size_t i = 0; i < count; i++) {
		bool is_same = i > 0 && strcmp(wishes[i - 1]->issued.wanted.slug, wishes[i]->issued.wanted.slug) == 0;
		wishes[i]->slug_first = is_same ? wishes[i - 1]->slug_first : wishes[i];
	}
}

void link_batch_making_match(struct link_batch *batch)
{
	struct link_batch_item **wishes = mem_array(batch->count, sizeof(struct link_batch_item *));
	size_t count = 0, with_slug = 0;
	for (size_t i = 0; i < batch->count; i++) {
		if (batch->items[i].outcome != WRONG && !batch->items[i].is_claim)
			wishes[count++] = &batch->items[i];
	}
	match_urls(wishes, count);
	for (size_t i = 0; i < count; i++) {
		if (wishes[i]->issued.wanted.slug)
			wishes[with_slug++] = wishes[i];
	}
	match_slugs(wishes, with_slug);
	free(wishes);
}

/* --- in the transaction --- */

/* Before each statement of many: nobody waits for this batch longer than that. */
enum err link_batch_making_look_at_clock(const struct link_batch *batch)
{
	return clock_steady_us(batch->request->api->clock) < batch->until_us ? OK : ERR_UNAVAILABLE;
}

/* Whether PostgreSQL has to be asked; of those that name no slug, one per destination. */
static bool may_find(const struct link_batch_item *item)
{
	if (item->outcome != UNDECIDED || !item->wish.reuse)
		return false;
	return item->slug_first || !item->url_first->is_tried;
}

static enum err find_reusable(struct link_batch *batch, struct pg_conn *conn)
{
	struct link_reuse_store_wish *wishes = mem_array(batch->count, sizeof(*wishes));
	struct link_batch_item **asking = mem_array(batch->count, sizeof(struct link_batch_item *));
	size_t count = 0;
	for (size_t i = 0; i < batch->count; i++)
		batch->items[i].is_tried = false;
	for (size_t i = 0; i < batch->count; i++) {
		struct link_batch_item *item = &batch->items[i];
		if (!may_find(item))
			continue;
		wishes[count] = (struct link_reuse_store_wish){ .original_url = item->wish.original_url,
			                                        .slug = item->issued.wanted.slug,
			                                        .link = &item->link };
		asking[count++] = item;
		item->url_first->is_tried |= !item->slug_first;
	}
	enum err err = link_reuse_store_find(conn, batch->request->user_id, wishes, count);
	for (size_t i = 0; err == OK && i < count; i++) {
		if (wishes[i].is_found) {
			asking[i]->outcome = FOUND;
			asking[i]->url_first->reusable = asking[i];
		}
	}
	free(wishes);
	free(asking);
	return err;
}

static bool is_limited(const struct link_batch *batch)
{
	return batch->quota.rule.max > 0 && batch->quota.state.left < (int64_t)batch->count;
}

/* A round is no larger than what the quota has left: slugs that are taken would make it many rounds. */
static enum err find_taken(struct link_batch *batch, struct pg_conn *conn)
{
	const char **slugs = mem_array(batch->count, sizeof(*slugs));
	struct link_batch_item **asking = mem_array(batch->count, sizeof(struct link_batch_item *));
	bool *is_taken = mem_array(batch->count, sizeof(*is_taken));
	size_t count = 0;
	for (size_t i = 0; i < batch->count; i++) {
		struct link_batch_item *item = &batch->items[i];
		if (item->outcome != UNDECIDED || item->slug_first != item)
			continue;
		slugs[count] = item->issued.wanted.slug;
		asking[count++] = item;
	}
	enum err err = link_reuse_store_find_taken(conn, slugs, count, is_taken);
	for (size_t i = 0; err == OK && i < count; i++) {
		if (is_taken[i])
			asking[i]->outcome = TAKEN;
	}
	free(slugs);
	free(asking);
	free(is_taken);
	return err;
}

/* By what others have come to. */
static void settle(struct link_batch_item *item)
{
	const struct link_batch_item *first = item->slug_first;
	const struct link_batch_item *same = NULL;
	if (!first && item->wish.reuse)
		same = item->url_first->reusable;
	if (first && first != item && item->wish.reuse && link_batch_making_has_link(first) &&
	    first->url_first == item->url_first)
		same = first;
	if (same) {
		item->link = same->link;
		item->outcome = FOUND;
	} else if (first && first != item && first->outcome != UNDECIDED) {
		item->outcome = TAKEN;
	}
}

/* Whether what decides it may be made in this round, by one before it. */
static bool must_wait(const struct link_batch_item *item)
{
	if (item->slug_first)
		return item->slug_first != item;
	return item->wish.reuse && item->url_first->is_tried;
}

/* The next round: as many as the quota allows. */
static size_t choose(struct link_batch *batch)
{
	size_t most = is_limited(batch) ? (size_t)batch->quota.state.left : batch->count;
	size_t chosen = 0;
	for (size_t i = 0; i < batch->count; i++)
		batch->items[i].is_tried = false;
	for (size_t i = 0; i < batch->count; i++) {
		struct link_batch_item *item = &batch->items[i];
		if (item->outcome == UNDECIDED)
			settle(item);
		if (item->outcome != UNDECIDED || chosen == most || must_wait(item))
			continue;
		item->url_first->is_tried = true;
		batch->round[chosen++] = &item->issued;
	}
	return chosen;
}

/* The items of the round, as they are now. made: their ids. */
static size_t judge(struct link_batch *batch, int64_t *made)
{
	size_t count = 0;
	for (size_t i = 0; i < batch->count; i++) {
		struct link_batch_item *item = &batch->items[i];
		if (item->outcome != UNDECIDED || !item->issued.is_done)
			continue;
		item->outcome = item->issued.err == OK ? MADE : item->issued.err == ERR_CONFLICT ? TAKEN : EXHAUSTED;
		if (item->outcome == MADE) {
			item->url_first->reusable = item;
			made[count++] = item->link.entry.id;
		}
	}
	return count;
}

static enum err create_chosen(struct link_batch *batch, struct pg_conn *conn, size_t chosen)
{
	const struct request *r = batch->request;
	int64_t *made = mem_array(chosen, sizeof(*made));
	size_t count = 0;
	enum err err = slug_issuer_create_many(conn, batch->round, chosen, slug_random);
	if (err == OK) {
		count = judge(batch, made);
		err = link_audit_add_many(r, conn, LINK_CHANGE_CREATED, made, count);
	}
	if (err == OK)
		err = link_quota_use(r, conn, &batch->quota, (int64_t)count);
	free(made);
	return err;
}

static void limit_rest(struct link_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		if (batch->items[i].outcome == UNDECIDED)
			batch->items[i].outcome = LIMITED;
	}
}

/*
 * One round makes all but those that wait for others of their destination, and one more those for whom that was in
 * vain; random slugs that are taken need further ones.
 */
enum err link_batch_making_run(struct link_batch *batch, struct pg_conn *conn)
{
	size_t chosen = 0;
	enum err err = find_reusable(batch, conn);
	if (err == OK && is_limited(batch) && batch->quota.state.left > 0)
		err = find_taken(batch, conn);
	while (err == OK && (chosen = choose(batch)) > 0) {
		err = link_batch_making_look_at_clock(batch);
		if (err == OK)
			err = create_chosen(batch, conn, chosen);
	}
	if (err == OK)
		limit_rest(batch);
	return err;
}
