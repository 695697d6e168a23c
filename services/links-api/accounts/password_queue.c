#include "services/links-api/accounts/password_queue.h"

#include "services/links-api/response.h"

static bool submit(struct request *r, size_t waiting_max, worker_pool_job job, void *arg)
{
	if (worker_pool_submit_below(r->api->password_workers, waiting_max, job, arg) == OK)
		return true;
	password_queue_send_busy(r);
	return false;
}

bool password_queue_submit(struct request *r, worker_pool_job job, void *arg)
{
	return submit(r, (size_t)r->api->config->password_queue, job, arg);
}

bool password_queue_submit_registration(struct request *r, worker_pool_job job, void *arg)
{
	return submit(r, ((size_t)r->api->config->password_queue + 1) / 2, job, arg);
}

void password_queue_send_busy(struct request *r)
{
	http_exchange_add_fixed_header(r->exchange, "Retry-After", "1");
	response_problem(r, 429, "busy", "Too many password checks are waiting. Please retry.");
}
