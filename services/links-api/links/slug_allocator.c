#include "services/links-api/links/slug_allocator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/mem.h"

/* The arrays of one round. */
struct round {
	struct link_write_new *news;
	struct link **links;
	bool *is_created;
};

static void round_init(struct round *round, size_t count)
{
	round->news = mem_array(count, sizeof(*round->news));
	round->links = mem_array(count, sizeof(struct link *));
	round->is_created = mem_array(count, sizeof(*round->is_created));
}

static void round_clear(struct round *round)
{
	free(round->news);
	free(round->links);
	free(round->is_created);
}

static void choose_slug(struct slug_allocator_item *item, slug_allocator_source source)
{
	item->is_duplicate = false;
	if (item->requested.slug)
		snprintf(item->slug, sizeof(item->slug), "%s", item->requested.slug);
	else
		source(item->slug, SLUG_RANDOM_LENGTH + (size_t)(item->tries / SLUG_RANDOM_TRIES));
}

/* is_created false: the slug was already used. */
static void finish_item(struct slug_allocator_item *item, bool is_created)
{
	const int tries_max =
		(SLUG_ALLOCATOR_LENGTH_MAX - SLUG_RANDOM_LENGTH + 1) * SLUG_RANDOM_TRIES;
	if (!is_created)
		item->tries++;
	item->is_done = is_created || item->requested.slug || item->tries == tries_max;
	item->err = is_created ? OK : item->requested.slug ? ERR_CONFLICT : ERR_LIMIT;
}

static int compare_slugs(const struct slug_allocator_item *x, const struct slug_allocator_item *y)
{
	return x->requested.is_slug_exact ? strcmp(x->slug, y->slug) : strcasecmp(x->slug, y->slug);
}

/* Orders by the keys of the slugs; of equal ones, the requested one comes first. */
static int compare_items(const void *a, const void *b)
{
	const struct slug_allocator_item *x = *(struct slug_allocator_item *const *)a;
	const struct slug_allocator_item *y = *(struct slug_allocator_item *const *)b;
	int order = compare_slugs(x, y);
	return order != 0 ? order : (y->requested.slug != NULL) - (x->requested.slug != NULL);
}

/*
 * Two random slugs of a round can be equal, or equal to a requested one. Only the first item keeps
 * the slug; the others need another round. The remaining items stay in order, which becomes their
 * order in lists.
 */
static size_t drop_duplicates(struct slug_allocator_item **items, size_t count)
{
	struct slug_allocator_item **sorted =
		mem_copy(items, count * sizeof(struct slug_allocator_item *));
	qsort(sorted, count, sizeof(struct slug_allocator_item *), compare_items);
	for (size_t i = 1; i < count; i++)
		sorted[i]->is_duplicate = compare_slugs(sorted[i - 1], sorted[i]) == 0;
	free(sorted);
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		if (items[i]->is_duplicate)
			finish_item(items[i], false);
		else
			items[kept++] = items[i];
	}
	return kept;
}

static enum err create_round(struct pg_conn *conn, struct slug_allocator_item **items, size_t count)
{
	struct round round;
	round_init(&round, count);
	for (size_t i = 0; i < count; i++) {
		round.news[i] = items[i]->requested;
		round.news[i].slug = items[i]->slug;
		round.links[i] = items[i]->link;
	}
	enum err err = link_write_create(conn, round.news, count, round.links, round.is_created);
	for (size_t i = 0; err == OK && i < count; i++)
		finish_item(items[i], round.is_created[i]);
	round_clear(&round);
	return err;
}

enum err slug_allocator_create_bulk(struct pg_conn *conn, struct slug_allocator_item *const *items,
                                    size_t count, slug_allocator_source source)
{
	if (count == 0 || count > LINK_WRITE_MAX)
		return count == 0 ? OK : ERR_LIMIT;
	struct slug_allocator_item **round =
		mem_copy(items, count * sizeof(struct slug_allocator_item *));
	for (size_t i = 0; i < count; i++)
		choose_slug(round[i], source);
	enum err err = create_round(conn, round, drop_duplicates(round, count));
	free(round);
	return err;
}

enum err slug_allocator_create(struct pg_conn *conn, struct slug_allocator_item *item,
                               slug_allocator_source source)
{
	enum err err = OK;
	while (err == OK && !item->is_done)
		err = slug_allocator_create_bulk(conn, &item, 1, source);
	return err;
}
