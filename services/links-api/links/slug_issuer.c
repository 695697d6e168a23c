#include "services/links-api/links/slug_issuer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"

static enum err create_with_random_slug(struct pg_conn *conn, const struct link_store_new *new_link,
                                        slug_issuer_source source, struct link *out)
{
	for (size_t length = SLUG_RANDOM_LENGTH; length <= SLUG_ISSUER_LENGTH_MAX; length++) {
		for (int i = 0; i < SLUG_RANDOM_TRIES; i++) {
			char slug[SLUG_SIZE];
			struct link_store_new with_slug = *new_link;
			source(slug, length);
			with_slug.slug = slug;
			enum err err = link_store_create(conn, &with_slug, out);
			if (err != ERR_CONFLICT)
				return err;
		}
	}
	return ERR_LIMIT;
}

enum err slug_issuer_create(struct pg_conn *conn, const struct link_store_new *new_link, slug_issuer_source source,
                            struct link *out)
{
	if (new_link->slug)
		return link_store_create(conn, new_link, out);
	return create_with_random_slug(conn, new_link, source, out);
}

/* What one round takes. */
struct round {
	struct link_store_new *news;
	struct link *links;
	bool *is_made;
};

static void round_init(struct round *round, size_t count)
{
	round->news = mem_array(count, sizeof(*round->news));
	round->links = mem_array(count, sizeof(*round->links));
	round->is_made = mem_array(count, sizeof(*round->is_made));
}

static void round_clear(struct round *round)
{
	free(round->news);
	free(round->links);
	free(round->is_made);
}

static void name_item(struct slug_issuer_item *item, slug_issuer_source source)
{
	item->is_twin = false;
	if (item->wanted.slug)
		snprintf(item->slug, sizeof(item->slug), "%s", item->wanted.slug);
	else
		source(item->slug, SLUG_RANDOM_LENGTH + (size_t)(item->tries / SLUG_RANDOM_TRIES));
}

/* made: NULL = somebody else has the slug. */
static void judge_item(struct slug_issuer_item *item, const struct link *made)
{
	const int tries_max = (SLUG_ISSUER_LENGTH_MAX - SLUG_RANDOM_LENGTH + 1) * SLUG_RANDOM_TRIES;
	if (made)
		*item->link = *made;
	else
		item->tries++;
	item->is_done = made || item->wanted.slug || item->tries == tries_max;
	item->err = made ? OK : item->wanted.slug ? ERR_CONFLICT : ERR_LIMIT;
}

/* By slug; of twins the one that wishes for it is first. */
static int compare_items(const void *a, const void *b)
{
	const struct slug_issuer_item *x = *(struct slug_issuer_item *const *)a;
	const struct slug_issuer_item *y = *(struct slug_issuer_item *const *)b;
	int order = strcmp(x->slug, y->slug);
	return order != 0 ? order : (y->wanted.slug != NULL) - (x->wanted.slug != NULL);
}

/*
 * Two random slugs of a round may be the same, or one that another item wishes for: only the first of them goes on. The
 * order stays: it is that of lists.
 */
static size_t leave_out_twins(struct slug_issuer_item **items, size_t count)
{
	struct slug_issuer_item **sorted = mem_copy(items, count * sizeof(struct slug_issuer_item *));
	qsort(sorted, count, sizeof(struct slug_issuer_item *), compare_items);
	for (size_t i = 1; i < count; i++)
		sorted[i]->is_twin = strcmp(sorted[i - 1]->slug, sorted[i]->slug) == 0;
	free(sorted);
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		if (items[i]->is_twin)
			judge_item(items[i], NULL);
		else
			items[kept++] = items[i];
	}
	return kept;
}

static enum err create_round(struct pg_conn *conn, struct slug_issuer_item **items, size_t count)
{
	struct round round;
	round_init(&round, count);
	for (size_t i = 0; i < count; i++) {
		round.news[i] = items[i]->wanted;
		round.news[i].slug = items[i]->slug;
	}
	enum err err = link_bulk_store_create(conn, round.news, count, round.links, round.is_made);
	for (size_t i = 0; err == OK && i < count; i++)
		judge_item(items[i], round.is_made[i] ? &round.links[i] : NULL);
	round_clear(&round);
	return err;
}

enum err slug_issuer_create_many(struct pg_conn *conn, struct slug_issuer_item *const *items, size_t count,
                                 slug_issuer_source source)
{
	if (count == 0 || count > LINK_BULK_STORE_MAX)
		return count == 0 ? OK : ERR_LIMIT;
	struct slug_issuer_item **round = mem_copy(items, count * sizeof(struct slug_issuer_item *));
	for (size_t i = 0; i < count; i++)
		name_item(round[i], source);
	enum err err = create_round(conn, round, leave_out_twins(round, count));
	free(round);
	return err;
}
