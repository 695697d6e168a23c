#include <stdio.h>

#include "lib/http/http_logo.h"
#include "lib/links/host_policy.h"
#include "services/links-api/destinations/public_base.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/oidc_client.h"
#include "services/links-api/mail/mail_queue.h"

static struct json *domains_json(const char *domains)
{
	struct json *array = json_new_array();
	for (size_t len; (len = env_next_entry(&domains)) > 0; domains += len) {
		char domain[HOST_POLICY_NAME_MAX + 2];
		snprintf(domain, sizeof(domain), "%.*s", (int)len, domains);
		json_append_text(array, domain);
	}
	return array;
}

enum http_progress instance_handlers_get(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	const struct config *config = r->api->config;
	struct json *instance = json_new_object();
	json_set_text(instance, "registration", config->registration);
	json_set(instance, "registration_domains", domains_json(config->registration_domains));
	json_set_bool(instance, "anonymous_links", config->anonymous_links);
	json_set_bool(instance, "public_stats", config->public_stats);
	json_set_bool(instance, "page_titles", config->fetch_titles);
	json_set_bool(instance, "password_login", config->password_login);
	json_set(instance, "sign_in", oidc_client_list(r->api->oidc));
	json_set_bool(instance, "mail", mail_queue_is_on(r));
	json_set_text(instance, "workspace_creation", config->workspace_creation);
	json_set_text(instance, "short_base", r->api->base->url);
	json_set_text(instance, "operator_name", config->operator_name);
	json_set_text(instance, "operator_logo", http_logo_path(r->api->logo));
	return response_json(r, 200, instance);
}
