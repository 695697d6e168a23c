/*
 * One HTTP request to a provider of single sign-on, by libcurl. Blocks. Safe from any thread after
 * curl_global_init.
 *
 * Providers are the operator's configuration, so any address is allowed. TLS is verified; http is for
 * this machine only (oidc_config_is_url). A request follows no redirect, uses no proxy, and ends after
 * OIDC_REQUEST_TIMEOUT_MS or OIDC_REQUEST_BYTES_MAX.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_OIDC_REQUEST_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_OIDC_REQUEST_H

#include <stdbool.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define OIDC_REQUEST_TIMEOUT_MS 5000
#define OIDC_REQUEST_BYTES_MAX ((size_t)256 * 1024)
#define OIDC_REQUEST_FORM_BYTES_MAX ((size_t)16 * 1024)

struct oidc_provider;

struct oidc_request {
	const struct oidc_provider *provider;
	const char *url;
	/* To post; NULL = GET. */
	const char *form;
	/* Sends the client's id and secret in the header. */
	bool has_basic_auth;
	/* NULL = none. */
	const char *access_token;
};

/* Appends name=value to a form or a query; the value is escaped. */
void oidc_request_add_param(struct strbuf *out, const char *name, const char *value);

/*
 * OK: the answer is a JSON object of a status below 500 that is no redirect; the caller owns it.
 * ERR_UNAVAILABLE: there is none, or a 5xx. ERR_INVALID: it is something else. *reason: why, a literal.
 * *status: 0 = none.
 */
enum err oidc_request_send(const struct oidc_request *request, struct json **answer, long *status,
                           const char **reason) MUST_CHECK;

#endif
