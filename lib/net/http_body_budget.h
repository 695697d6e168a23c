/*
 * Safe from any thread. Private to the http_* files: how much memory the bodies of all requests of a server may take at
 * once, so that it does not grow with the number of connections.
 */
#ifndef WAYMARK_LIB_NET_HTTP_BODY_BUDGET_H
#define WAYMARK_LIB_NET_HTTP_BODY_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct http_body_budget {
	size_t max; /* 0: there is no ceiling */
	_Atomic size_t taken;
};

/* False: so much is not left; nothing was taken. */
bool http_body_budget_take(struct http_body_budget *budget, size_t bytes);

/* What was taken before. */
void http_body_budget_give(struct http_body_budget *budget, size_t bytes);

#endif
