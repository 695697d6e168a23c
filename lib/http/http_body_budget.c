#include "lib/http/http_body_budget.h"

#include <pthread.h>
#include <stdlib.h>

#include "lib/base/mem.h"

#define FLOW_SHARE 4

struct share {
	uint64_t flow;
	size_t bytes;
};

/* Few flows send large bodies at the same time, so a list is searched. */
struct http_body_budget {
	size_t bytes_max;
	pthread_mutex_t lock;
	/* Guarded by lock, like the following. */
	size_t bytes;
	struct share *shares;
	size_t count, room;
};

struct http_body_budget *http_body_budget_new(size_t bytes_max)
{
	struct http_body_budget *budget = mem_zero(sizeof(*budget));
	pthread_mutex_init(&budget->lock, NULL);
	budget->bytes_max = bytes_max;
	return budget;
}

void http_body_budget_free(struct http_body_budget *budget)
{
	if (!budget)
		return;
	pthread_mutex_destroy(&budget->lock);
	free(budget->shares);
	free(budget);
}

static struct share *share_of(struct http_body_budget *budget, uint64_t flow)
{
	for (size_t i = 0; i < budget->count; i++)
		if (budget->shares[i].flow == flow)
			return &budget->shares[i];
	if (budget->count == budget->room) {
		budget->room = budget->room > 0 ? 2 * budget->room : 16;
		budget->shares = mem_resize(budget->shares, budget->room, sizeof(*budget->shares));
	}
	budget->shares[budget->count] = (struct share){ .flow = flow };
	return &budget->shares[budget->count++];
}

static void drop_if_empty(struct http_body_budget *budget, struct share *share)
{
	if (share->bytes == 0)
		*share = budget->shares[--budget->count];
}

bool http_body_budget_reserve(struct http_body_budget *budget, uint64_t flow, size_t bytes)
{
	size_t most = budget->bytes_max;
	if (most == 0 || bytes == 0)
		return true;
	size_t most_of_flow = flow == 0 ? most : most / FLOW_SHARE;
	pthread_mutex_lock(&budget->lock);
	struct share *share = share_of(budget, flow);
	bool fits = bytes <= most - budget->bytes && share->bytes <= most_of_flow &&
	            bytes <= most_of_flow - share->bytes;
	if (fits) {
		budget->bytes += bytes;
		share->bytes += bytes;
	}
	drop_if_empty(budget, share);
	pthread_mutex_unlock(&budget->lock);
	return fits;
}

void http_body_budget_release(struct http_body_budget *budget, uint64_t flow, size_t bytes)
{
	if (budget->bytes_max == 0 || bytes == 0)
		return;
	pthread_mutex_lock(&budget->lock);
	struct share *share = share_of(budget, flow);
	budget->bytes -= bytes;
	share->bytes -= bytes;
	drop_if_empty(budget, share);
	pthread_mutex_unlock(&budget->lock);
}
