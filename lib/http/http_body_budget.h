/*
 * Safe from any thread. Bounds the memory of the bodies that a server holds at the same time: of
 * all together, and of each flow (http_exchange_set_flow), which may use a quarter.
 */
#ifndef WAYMARK_LIB_HTTP_HTTP_BODY_BUDGET_H
#define WAYMARK_LIB_HTTP_HTTP_BODY_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_body_budget;

/* bytes_max 0: no ceiling. */
struct http_body_budget *http_body_budget_new(size_t bytes_max);
/* NULL is allowed. */
void http_body_budget_free(struct http_body_budget *budget);

/* False: flow, or all flows together, would pass their ceiling; nothing is reserved. */
bool http_body_budget_reserve(struct http_body_budget *budget, uint64_t flow, size_t bytes);
void http_body_budget_release(struct http_body_budget *budget, uint64_t flow, size_t bytes);

#endif
