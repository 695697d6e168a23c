#include "services/analytics-consumer/visitor_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"

#define NOBODY 0

/* An open hash table, never more than half full. Two of them: who is only in the older one is forgotten with it. */
struct generation {
	uint64_t *places;
	size_t count;
};

struct visitor_memory {
	size_t visitors_max;
	size_t places; /* a power of two */
	struct generation young;
	struct generation old;
};

struct visitor_memory *visitor_memory_new(size_t visitors_max)
{
	struct visitor_memory *memory = mem_zero(sizeof(*memory));
	memory->visitors_max = visitors_max;
	memory->places = 16;
	while (memory->places < 2 * visitors_max)
		memory->places *= 2;
	memory->young.places = mem_array(memory->places, sizeof(uint64_t));
	memory->old.places = mem_array(memory->places, sizeof(uint64_t));
	visitor_memory_forget(memory);
	return memory;
}

void visitor_memory_free(struct visitor_memory *memory)
{
	if (!memory)
		return;
	free(memory->young.places);
	free(memory->old.places);
	free(memory);
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static uint64_t key_of(const struct visit *visit)
{
	uint64_t hash;
	memcpy(&hash, visit->visitor_hash, sizeof(hash));
	uint64_t place = (uint64_t)visit->event.link_id * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)visit->day;
	uint64_t key = mix(hash + mix(place));
	return key != NOBODY ? key : 1;
}

/* The place of key, or the free one in which it would stand. */
static uint64_t *find(const struct visitor_memory *memory, const struct generation *generation, uint64_t key)
{
	size_t at = key & (memory->places - 1);
	while (generation->places[at] != NOBODY && generation->places[at] != key)
		at = (at + 1) & (memory->places - 1);
	return &generation->places[at];
}

static bool has(const struct visitor_memory *memory, const struct generation *generation, uint64_t key)
{
	return generation->count > 0 && *find(memory, generation, key) == key;
}

bool visitor_memory_knows(const struct visitor_memory *memory, const struct visit *visit)
{
	uint64_t key = key_of(visit);
	return has(memory, &memory->young, key) || has(memory, &memory->old, key);
}

static void empty(const struct visitor_memory *memory, struct generation *generation)
{
	if (generation->count > 0)
		memset(generation->places, 0, memory->places * sizeof(uint64_t));
	generation->count = 0;
}

static void grow_old(struct visitor_memory *memory)
{
	struct generation forgotten = memory->old;
	memory->old = memory->young;
	memory->young = forgotten;
	empty(memory, &memory->young);
}

void visitor_memory_add(struct visitor_memory *memory, const struct visit *visit)
{
	uint64_t key = key_of(visit);
	if (has(memory, &memory->young, key))
		return;
	if (memory->young.count == memory->visitors_max)
		grow_old(memory);
	*find(memory, &memory->young, key) = key;
	memory->young.count++;
}

void visitor_memory_forget(struct visitor_memory *memory)
{
	empty(memory, &memory->young);
	empty(memory, &memory->old);
}
