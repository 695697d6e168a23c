#include "lib/base/err.h"

#include "lib/base/array.h"

const char *err_name(enum err e)
{
	static const char *const names[] = {
		[OK] = "ok",
		[ERR_INVALID] = "invalid",
		[ERR_NOT_FOUND] = "not_found",
		[ERR_CONFLICT] = "conflict",
		[ERR_UNAVAILABLE] = "unavailable",
		[ERR_LIMIT] = "limit",
		[ERR_INTERNAL] = "internal",
	};
	return (unsigned)e < ARRAY_SIZE(names) ? names[e] : "unknown";
}
