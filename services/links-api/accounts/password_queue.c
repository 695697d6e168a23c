#include "services/links-api/accounts/password_queue.h"

#include "services/links-api/http/response.h"

static enum err submit(const struct api *api, enum password_queue_kind kind, worker_pool_job job,
                       void *arg)
{
	size_t size = (size_t)api->config->password_queue;
	if (kind == PASSWORD_QUEUE_PRIORITY)
		return worker_pool_submit_first(api->password_workers, job, arg);
	size_t share = kind == PASSWORD_QUEUE_REGISTRATION ? (size + 1) / 2 : size - size / 4;
	return worker_pool_submit_below(api->password_workers, share, job, arg);
}

bool password_queue_submit(struct request *r, enum password_queue_kind kind, worker_pool_job job,
                           void *arg)
{
	if (submit(r->api, kind, job, arg) == OK)
		return true;
	password_queue_send_busy(r);
	return false;
}

void password_queue_send_busy(struct request *r)
{
	http_exchange_add_fixed_header(r->exchange, "Retry-After", "1");
	response_problem(r, 429, "busy", "Too many password checks are waiting. Please retry.");
}
