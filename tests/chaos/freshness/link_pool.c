#include "tests/chaos/freshness/link_pool.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"

#define TOUCHED 128
#define AHEAD 16
#define PREFIX_SIZE 9

struct place {
	_Atomic bool is_there;
	char slug[HISTORY_SLUG_SIZE];
};

/* The links that were touched last; one can be there several times. */
struct recent {
	_Atomic uint32_t touches;
	_Atomic uint32_t links[TOUCHED];
};

struct link_pool {
	char prefix[PREFIX_SIZE];
	_Atomic uint32_t next;
	struct recent recent;
	struct recent rare[LINK_POOL_GROUPS];
	struct place *places;
};

struct link_pool *link_pool_new(const char *prefix)
{
	struct link_pool *pool = mem_zero(sizeof(*pool));
	snprintf(pool->prefix, sizeof(pool->prefix), "%s", prefix);
	pool->places = mem_array(HISTORY_LINKS_MAX, sizeof(*pool->places));
	return pool;
}

void link_pool_free(struct link_pool *pool)
{
	if (!pool)
		return;
	free(pool->places);
	free(pool);
}

uint32_t link_pool_draw(struct link_pool *pool)
{
	uint32_t link = atomic_fetch_add(&pool->next, 1);
	return link < HISTORY_LINKS_MAX ? link : HISTORY_LINKS_MAX;
}

bool link_pool_custom_slug(const struct link_pool *pool, uint32_t link,
                           char slug[static HISTORY_SLUG_SIZE])
{
	if (link % 2 != 0)
		return false;
	snprintf(slug, HISTORY_SLUG_SIZE, "%s-%u", pool->prefix, link);
	return true;
}

void link_pool_put(struct link_pool *pool, uint32_t link, const char *slug)
{
	struct place *place = &pool->places[link];
	snprintf(place->slug, sizeof(place->slug), "%s", slug);
	atomic_store(&place->is_there, true);
}

static bool is_rare(uint32_t link)
{
	return link % 3 == 2;
}

void link_pool_touch(struct link_pool *pool, uint32_t link)
{
	struct recent *recent =
		is_rare(link) ? &pool->rare[link / 3 % LINK_POOL_GROUPS] : &pool->recent;
	uint32_t turn = atomic_fetch_add(&recent->touches, 1);
	atomic_store(&recent->links[turn % TOUCHED], link);
}

uint32_t link_pool_random(uint64_t *random, uint32_t n)
{
	*random ^= *random >> 12;
	*random ^= *random << 25;
	*random ^= *random >> 27;
	return (uint32_t)((*random * UINT64_C(0x2545F4914F6CDD1D)) >> 33) % n;
}

/* Prefers low numbers: the place is the third power of an evenly distributed number. */
static uint32_t skewed(uint64_t *random, uint32_t n)
{
	uint64_t u = link_pool_random(random, 1024);
	return (uint32_t)(u * u * u * n >> 30);
}

/* Returns HISTORY_LINKS_MAX if there is none. */
static uint32_t choose_recent(const struct recent *recent, uint64_t *random)
{
	uint32_t touches = atomic_load(&recent->touches);
	uint32_t count = touches < TOUCHED ? touches : TOUCHED;
	return count == 0 ? HISTORY_LINKS_MAX
	                  : atomic_load(&recent->links[link_pool_random(random, count)]);
}

/*
 * Of 32 requests, 4 are for links not made yet, 8 for any, 6 for rare ones, 14 for links that
 * changed lately.
 */
static uint32_t choose_number(const struct link_pool *pool, uint64_t *random, uint64_t second,
                              uint32_t made)
{
	uint32_t dice = link_pool_random(random, 32), link;
	if (dice < 4)
		link = made + link_pool_random(random, AHEAD);
	else if (dice < 12)
		link = skewed(random, made);
	else if (dice < 18)
		return choose_recent(&pool->rare[second % LINK_POOL_GROUPS], random);
	else
		link = choose_recent(&pool->recent, random);
	return is_rare(link) ? HISTORY_LINKS_MAX : link;
}

bool link_pool_choose(const struct link_pool *pool, uint64_t *random, uint64_t second,
                      uint32_t *link, char slug[static HISTORY_SLUG_SIZE])
{
	uint32_t made = atomic_load(&pool->next);
	if (made == 0 || made + AHEAD >= HISTORY_LINKS_MAX)
		return false;
	*link = choose_number(pool, random, second, made);
	if (*link == HISTORY_LINKS_MAX)
		return false;
	const struct place *place = &pool->places[*link];
	if (!atomic_load(&place->is_there))
		return link_pool_custom_slug(pool, *link, slug);
	memcpy(slug, place->slug, HISTORY_SLUG_SIZE);
	return true;
}
