#include "services/links-api/identity/login_needs.h"

#include <string.h>

#include "services/links-api/http/response.h"
#include "services/links-api/identity/authentication.h"

static bool is_own_account(const struct request *r)
{
	static const char prefix[] = "/api/auth/";
	return strncmp(r->match.route->pattern, prefix, strlen(prefix)) == 0;
}

/*
 * False: the response is complete. Where only some mail domains may register, an address that nobody
 * has confirmed proves nothing. Administrators are made by the operator.
 */
static bool has_confirmed_address(struct request *r)
{
	const struct config *config = r->api->config;
	bool is_required = *config->registration_domains && *config->mail_from &&
	                   !r->has_admin_role && !is_own_account(r);
	if (is_required && r->lacks_confirmed_address)
		response_problem(r, 403, "address-unconfirmed",
		                 "Open the address in the mail that we have sent to you. POST "
		                 "/api/auth/email with the same address sends it again.");
	return !is_required || !r->lacks_confirmed_address;
}

static bool is_leaving(const struct request *r)
{
	return r->match.route->right == PERMISSION_WORKSPACE_LEAVE &&
	       request_path_id(r) == r->user_id;
}

/*
 * False: the response is complete. What a person does about the own account goes on, to set one up,
 * and nobody is kept in a workspace. Keys need none.
 */
static bool has_second_factor(struct request *r, bool is_in_workspace)
{
	bool is_required = strcmp(r->api->config->second_factor, "required") == 0
	                           ? !is_own_account(r)
	                           : is_in_workspace && r->workspace_requires_second_factor;
	if (!is_required || !r->lacks_second_factor || is_leaving(r))
		return true;
	response_problem(r, 403, "second-factor-required",
	                 "This needs a second factor for your login. Set one up: POST "
	                 "/api/auth/second-factor, or the account's page of the dashboard.");
	return false;
}

bool login_needs_are_met(struct request *r, bool is_in_workspace)
{
	return has_confirmed_address(r) && has_second_factor(r, is_in_workspace);
}
