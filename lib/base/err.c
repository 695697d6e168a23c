#include "lib/base/err.h"

const char *err_name(enum err e)
{
	switch (e) {
	case OK:
		return "ok";
	case ERR_INVALID:
		return "invalid";
	case ERR_NOT_FOUND:
		return "not_found";
	case ERR_CONFLICT:
		return "conflict";
	case ERR_UNAVAILABLE:
		return "unavailable";
	case ERR_LIMIT:
		return "limit";
	case ERR_INTERNAL:
		return "internal";
	}
	return "unknown";
}
