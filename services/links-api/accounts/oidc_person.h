/*
 * Which person of this instance somebody is whom a provider knows. One thread at a time.
 *
 * A configured provider is an invitation if it says for whom: it has a required claim, or admits
 * everyone. Else its first logins follow REGISTRATION, as those with a password do. An address that has
 * an account already is tied to a provider only by somebody who is logged in to it.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_OIDC_PERSON_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_OIDC_PERSON_H

#include "lib/base/err.h"
#include "lib/json/json.h"
#include "services/links-api/http/request.h"
#include "services/links-api/identity/oidc_config.h"
#include "services/links-api/identity/oidc_login.h"
#include "services/links-api/identity/user_store.h"

struct oidc_person {
	struct request *request;
	const struct oidc_provider *provider;
	const struct oidc_login *login;
	/* Verified. */
	const struct json *claims;
};

/*
 * Finds the person, makes a new one, or ties the identity to who began the login; then applies the
 * groups. All or nothing. OK: user. ERR_INVALID: the person may not come in, and *refusal is the code of
 * why. Other errors: the database's.
 */
enum err oidc_person_come_in(const struct oidc_person *person, struct user *user,
                             const char **refusal) MUST_CHECK;

#endif
