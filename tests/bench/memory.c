/*
 * bench_memory LINKS: fills a memory cache with LINKS links and looks them up in random order.
 * Prints bytes per link as counted by the cache and by the kernel, nanoseconds per hit with one
 * thread and with two, and nanoseconds per put.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "services/redirector/cache/memory_cache.h"

#define HITS 2000000
#define LINK_BYTES_ROOM 400
#define URL "https://shop.example.com/catalogue/spring/items/000001?from=mail"

struct lookup_thread {
	struct memory_cache *cache;
	uint64_t links;
	uint64_t seed;
	uint64_t found;
	pthread_t thread;
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static size_t resident_bytes(void)
{
	char line[128];
	FILE *file = fopen("/proc/self/statm", "r");
	if (!file || !fgets(line, sizeof(line), file))
		exit(EXIT_FAILURE);
	fclose(file);
	/* The second number; strtoull passes over the space before it. */
	char *second = line + strcspn(line, " ");
	return strtoull(second, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

static int slug_of(uint64_t number, char out[static SLUG_SIZE])
{
	return snprintf(out, SLUG_SIZE, "%07llx", (unsigned long long)number);
}

static void fill(struct memory_cache *cache, uint64_t links)
{
	struct link_entry entry = { .version = 1,
		                    .state = LINK_STATE_ACTIVE,
		                    .redirect_status = 302,
		                    .original_url = URL };
	for (uint64_t i = 0; i < links; i++) {
		entry.id = (int64_t)i + 1;
		slug_of(i, entry.slug);
		memory_cache_merge(cache, &entry, 1);
	}
}

static void *ask(void *arg)
{
	struct lookup_thread *lookups = arg;
	struct link_entry entry;
	char slug[SLUG_SIZE];
	for (int i = 0; i < HITS; i++) {
		int len = slug_of(next_random(&lookups->seed) % lookups->links, slug);
		lookups->found +=
			memory_cache_get(lookups->cache, slug, (size_t)len, 2, &entry) == OK;
	}
	return NULL;
}

static double ns_per_hit(struct memory_cache *cache, uint64_t links, size_t threads)
{
	struct lookup_thread lookupss[2] = { { cache, links, 88172645463325252, 0, 0 },
		                             { cache, links, 1442695040888963, 0, 0 } };
	int64_t before_us = clock_steady_us(clock_system());
	for (size_t i = 0; i < threads; i++)
		if (pthread_create(&lookupss[i].thread, NULL, ask, &lookupss[i]) != 0)
			exit(EXIT_FAILURE);
	for (size_t i = 0; i < threads; i++)
		pthread_join(lookupss[i].thread, NULL);
	for (size_t i = 0; i < threads; i++)
		if (lookupss[i].found != HITS)
			exit(EXIT_FAILURE);
	return (double)(clock_steady_us(clock_system()) - before_us) * 1000 / HITS;
}

int main(int argc, char **argv)
{
	uint64_t links = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;
	if (links == 0) {
		fputs("usage: bench_memory LINKS\n", stderr);
		return 64;
	}
	size_t before = resident_bytes();
	struct memory_cache *cache =
		memory_cache_new(links * LINK_BYTES_ROOM + (1 << 20), CLOCK_US_PER_S);
	int64_t began_us = clock_steady_us(clock_system());
	fill(cache, links);
	double ns_per_put =
		(double)(clock_steady_us(clock_system()) - began_us) * 1000 / (double)links;
	struct memory_cache_usage usage = memory_cache_usage(cache);
	double resident = (double)(resident_bytes() - before) / (double)links;
	double one = ns_per_hit(cache, links, 1);
	double two = ns_per_hit(cache, links, 2);
	if (usage.entries != links)
		return EXIT_FAILURE;
	printf("%.0f %.0f %.0f %.0f %.0f\n", (double)usage.bytes / (double)links, resident, one,
	       two, ns_per_put);
	memory_cache_free(cache);
	return EXIT_SUCCESS;
}
