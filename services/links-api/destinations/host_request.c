#include "services/links-api/destinations/host_request.h"

#include <stdio.h>
#include <string.h>

#include "services/links-api/destinations/destination_host.h"
#include "services/links-api/http/member.h"

/* The host in a URL, or before a port or path. ERR_INVALID: there is none that is certain. */
static enum err parse_host_within(const char *text, struct destination_host *out)
{
	const char *reason = NULL;
	const char *scheme_end = strstr(text, "://");
	const char *begin = scheme_end ? scheme_end + strlen("://") : text;
	size_t authority_len = strcspn(begin, "/?#");
	if (memchr(begin, '@', authority_len))
		return ERR_INVALID;
	size_t len = *begin == '[' ? strcspn(begin, "]") + 1 : strcspn(begin, ":/?#");
	return len <= authority_len ? destination_host_parse(begin, len, out, &reason)
	                            : ERR_INVALID;
}

/* Does not take the host of a URL: a URL names one page, but the block concerns all of the host. */
static void refuse_host(const char *text, const char *reason, struct http_problem_fields *wrong)
{
	struct destination_host host;
	const char *parent = text + (text[0] == '*');
	if (parent[0] == '.' &&
	    destination_host_parse(parent + 1, strlen(parent + 1), &host, &reason) == OK)
		http_problem_add_field(wrong, "/host", "host",
		                       "must be a host; write %s (with_subdomains blocks the "
		                       "hosts below it)",
		                       host.text);
	else if (parse_host_within(text, &host) == OK)
		http_problem_add_field(wrong, "/host", "host",
		                       "must be a host without a scheme, port or path; write %s",
		                       host.text);
	else
		http_problem_add_field(wrong, "/host", "host",
		                       "must be a host name or address like example.com: %s",
		                       reason);
}

static void read_host(const struct json *object, struct blocked_host *out,
                      struct http_problem_fields *wrong)
{
	const char *text = member_text_of(object, "host", true, wrong);
	if (!text)
		return;
	struct destination_host host;
	const char *reason = NULL;
	if (destination_host_parse(text, strlen(text), &host, &reason) != OK) {
		refuse_host(text, reason, wrong);
		return;
	}
	size_t len = strlen(host.text);
	if (host.text[len - 1] == '.')
		len--;
	snprintf(out->host, sizeof(out->host), "%.*s", (int)len, host.text);
}

static void read_with_subdomains(const struct json *object, struct blocked_host *out,
                                 struct http_problem_fields *wrong)
{
	const struct json *value = json_get(object, "with_subdomains");
	out->with_subdomains = !value || (json_type(value) == JSON_BOOL && json_bool(value));
	if (value && json_type(value) != JSON_BOOL)
		http_problem_add_field(wrong, "/with_subdomains", "type", "must be true or false");
}

static void read_reason(const struct json *object, struct blocked_host *out,
                        struct http_problem_fields *wrong)
{
	const char *reason = member_text_of(object, "reason", false, wrong);
	if (reason && member_is_line(reason, 0, BLOCKED_HOST_REASON_CHARS_MAX, "/reason", wrong))
		snprintf(out->reason, sizeof(out->reason), "%s", reason);
}

enum err host_request_read(const struct json *object, struct blocked_host *out,
                           struct http_problem_fields *wrong)
{
	static const char *const names[] = { "host", "with_subdomains", "reason" };
	struct blocked_host read = { 0 };
	member_reject_unknown(object, names, 3, wrong);
	read_host(object, &read, wrong);
	read_with_subdomains(object, &read, wrong);
	read_reason(object, &read, wrong);
	if (wrong->count > 0)
		return ERR_INVALID;
	*out = read;
	return OK;
}
