#include "services/links-api/accounts/password_desk.h"

#include "services/links-api/answer.h"

bool password_desk_submit(struct request *r, worker_pool_job job, void *arg)
{
	if (worker_pool_submit(r->api->password_workers, job, arg) == OK)
		return true;
	password_desk_refuse(r);
	return false;
}

void password_desk_refuse(struct request *r)
{
	http_exchange_add_fixed_header(r->exchange, "Retry-After", "1");
	answer_problem(r, 429, "busy", "Too many passwords are being checked at the moment; please try again.");
}
