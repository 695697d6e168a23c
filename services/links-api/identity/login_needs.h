/*
 * What a login must have beside its password: a confirmed address, and a second factor, where the
 * instance or the workspace requires them; leaving a workspace needs neither factor. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_LOGIN_NEEDS_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_LOGIN_NEEDS_H

#include "services/links-api/http/request.h"

/*
 * Call after authentication_verify. is_in_workspace: what the request does belongs to a workspace. False:
 * the response is 403 "address-unconfirmed" or "second-factor-required".
 */
bool login_needs_are_met(struct request *r, bool is_in_workspace);

#endif
