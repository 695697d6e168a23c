/*
 * Who may make an account: REGISTRATION, and REGISTRATION_DOMAINS, which is a list of mail domains
 * ("example.com", or ".example.com" for that domain and its subdomains; "" = any). Other ways into an
 * instance do not come through here: links-api --create-admin, and a link that sets a password.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_REGISTRATION_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_REGISTRATION_H

#include <stdbool.h>

#include "lib/base/shutdown.h"
#include "services/links-api/accounts/credentials.h"
#include "services/links-api/http/request.h"
#include "services/links-api/workspaces/invitation.h"

/* Before the body is read. False: nobody may register, and the request has been answered with 403. */
bool registration_is_possible(struct request *r);

/*
 * False: this person may not register, and the request has been answered with 403
 * "registration-closed", 400 "email-domain", or what invitation_refuse says. invitation: the one that
 * the credentials name; id 0 = none.
 */
bool registration_admits(struct request *r, const struct credentials *wanted,
                         struct invitation *invitation);

/* Pure. */
bool registration_is_domain_of(const char *domains, const char *email);

/*
 * Says in the log how to get into an instance where nobody can register and that has no
 * administrator. Returns once PostgreSQL has told, or a shutdown is requested.
 */
void registration_announce_way_in(const struct api *api, struct shutdown *shutdown);

#endif
