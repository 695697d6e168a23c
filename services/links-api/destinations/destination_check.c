#include "services/links-api/destinations/destination_check.h"

#include <string.h>

#include "lib/base/mem.h"
#include "lib/links/host_guard.h"
#include "services/links-api/destinations/app_url.h"
#include "services/links-api/destinations/destination.h"
#include "services/links-api/http/member.h"

bool destination_check_is_app(const char *url)
{
	return strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0;
}

/* ERR_CONFLICT: it is ours. */
static enum err parse(const struct public_base *base, const char *text, bool may_be_app,
                      char out[static LINK_URL_SIZE], const char **reason)
{
	struct destination destination;
	enum err err = may_be_app ? app_url_parse(base->schemes, text, strlen(text), out, reason)
	                          : ERR_NOT_FOUND;
	if (err != ERR_NOT_FOUND)
		return err;
	err = destination_parse(text, strlen(text), &destination, reason);
	if (err != OK)
		return err;
	memcpy(out, destination.url, strlen(destination.url) + 1);
	return public_base_owns(base, &destination.host, destination.port) ? ERR_CONFLICT : OK;
}

char *destination_check(const struct public_base *base, const struct json *value,
                        const char *pointer, bool may_be_app, struct http_problem_fields *wrong)
{
	const char *text = member_text(value, pointer, wrong);
	return text ? destination_check_text(base, text, pointer, may_be_app, wrong) : NULL;
}

char *destination_check_text(const struct public_base *base, const char *text, const char *pointer,
                             bool may_be_app, struct http_problem_fields *wrong)
{
	char url[LINK_URL_SIZE];
	const char *reason = NULL;
	enum err err = parse(base, text, may_be_app, url, &reason);
	const char *code = err == ERR_INVALID ? destination_code(reason) : NULL;
	if (code ? strcmp(code, "too-many-bytes") == 0 : strlen(url) > base->destination_bytes_max)
		http_problem_add_field(wrong, pointer, "too-many-bytes",
		                       "must have at most %zu bytes", base->destination_bytes_max);
	else if (code)
		http_problem_add_field(wrong, pointer, code, "%s", reason);
	else if (err == ERR_CONFLICT)
		http_problem_add_field(wrong, pointer, "url-self",
		                       "must not point to this service");
	else if (base->hosts && host_guard_check(base->hosts, url) != HOST_POLICY_ALLOWED)
		http_problem_add_field(wrong, pointer, "url-blocked",
		                       "destination host is blocked");
	else
		return mem_text(url);
	return NULL;
}
