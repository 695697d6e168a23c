/*
 * One thread at a time. Which visitors are known to stand in the visit log as unique: for most, that spares asking it.
 * It may forget, and what it does not know it says nothing about. Its size is bounded: the visitors that came before
 * the last so many are forgotten together.
 *
 * A visitor is kept as 64 bits of his hash, his link and his day. That one who is new is taken for another has, with
 * all the room in use, a chance of 1 in 10,000,000,000,000: among a thousand million visits a day, one in ten thousand
 * days.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_VISITOR_MEMORY_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_VISITOR_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "services/analytics-consumer/visit.h"

struct visitor_memory;

/* Keeps the last visitors_max at least, and no more than twice as many; 16 to 32 bytes for each of those. */
struct visitor_memory *visitor_memory_new(size_t visitors_max);
void visitor_memory_free(struct visitor_memory *memory);

/* visit has a visitor hash. */
bool visitor_memory_knows(const struct visitor_memory *memory, const struct visit *visit);
void visitor_memory_add(struct visitor_memory *memory, const struct visit *visit);
void visitor_memory_forget(struct visitor_memory *memory);

#endif
