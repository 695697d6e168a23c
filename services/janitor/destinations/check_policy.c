#include "services/janitor/destinations/check_policy.h"

#include "lib/links/link_check_store.h"

bool check_policy_is_dead(int status)
{
	switch (status) {
	case LINK_CHECK_NO_ANSWER:
		return true;
	case 401:
	case 403:
	case 405:
	case 406:
	case 407:
	case 429:
	case 451:
	case 999:
		return false;
	default:
		return status >= 400;
	}
}

int64_t check_policy_next_s(int64_t recheck_s, int64_t retry_s, int64_t failures, int64_t link_id)
{
	int64_t next_s = recheck_s;
	if (failures > 0) {
		next_s = retry_s;
		for (int64_t i = 1; i < failures && next_s < CHECK_POLICY_RETRY_S_MAX; i++)
			next_s *= 2;
		if (next_s > CHECK_POLICY_RETRY_S_MAX)
			next_s = CHECK_POLICY_RETRY_S_MAX;
	}
	/* Multiplicative hash: neighbouring ids get very different delays. */
	uint64_t mixed = (uint64_t)link_id * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	return next_s + (int64_t)(mixed % (uint64_t)(next_s / 10 + 1));
}
