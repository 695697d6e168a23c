#include "lib/net/http_body_budget.h"

bool http_body_budget_take(struct http_body_budget *budget, size_t bytes)
{
	size_t taken = atomic_load(&budget->taken);
	do {
		if (budget->max > 0 && (taken > budget->max || bytes > budget->max - taken))
			return false;
	} while (!atomic_compare_exchange_weak(&budget->taken, &taken, taken + bytes));
	return true;
}

void http_body_budget_give(struct http_body_budget *budget, size_t bytes)
{
	atomic_fetch_sub(&budget->taken, bytes);
}
