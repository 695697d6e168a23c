#include "services/links-api/accounts/registration.h"

#include <string.h>
#include <strings.h>

#include "lib/postgres/pg_pool.h"
#include "services/links-api/http/api.h"
#include "services/links-api/http/response.h"

#define RETRY_MS 1000

static bool is_set_to(const struct api *api, const char *registration)
{
	return strcmp(api->config->registration, registration) == 0;
}

bool registration_is_possible(struct request *r)
{
	if (!is_set_to(r->api, "closed"))
		return true;
	response_problem(
		r, 403, "registration-closed",
		"Nobody can register at this server. Ask one of its administrators for an account.");
	return false;
}

/* invitation: id 0 = the credentials name none. False: the request has been answered. */
static bool find_invitation(struct request *r, const struct credentials *wanted,
                            struct invitation *invitation)
{
	uint8_t hash[DIGEST_SIZE];
	struct pg_conn *conn = NULL;
	*invitation = (struct invitation){ 0 };
	if (!*wanted->invitation)
		return true;
	secret_hash(wanted->invitation, hash);
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err == OK)
		err = invitation_find(conn, hash, invitation);
	pg_pool_release(r->api->pg, conn);
	bool is_for_another = err == OK && !invitation_is_for(invitation, wanted->email);
	if (err != OK || is_for_another)
		invitation_refuse(r, invitation, is_for_another, err);
	return err == OK && !is_for_another;
}

bool registration_is_domain_of(const char *domains, const char *email)
{
	const char *domain = strchr(email, '@') + 1;
	size_t domain_len = strlen(domain);
	for (size_t len; (len = env_next_entry(&domains)) > 0; domains += len) {
		const char *entry = domains + (domains[0] == '.');
		size_t entry_len = len - (size_t)(entry - domains);
		if (domain_len < entry_len)
			continue;
		const char *end = domain + domain_len - entry_len;
		bool is_whole = end == domain || (entry > domains && end[-1] == '.');
		if (is_whole && strncasecmp(end, entry, entry_len) == 0)
			return true;
	}
	return false;
}

bool registration_admits(struct request *r, const struct credentials *wanted,
                         struct invitation *invitation)
{
	const char *domains = r->api->config->registration_domains;
	struct http_problem_fields wrong = { 0 };
	if (!find_invitation(r, wanted, invitation))
		return false;
	if (is_set_to(r->api, "invite") && !invitation->id) {
		response_problem(r, 403, "registration-closed",
		                 "Registering at this server needs an invitation. Ask one of "
		                 "its administrators.");
		return false;
	}
	if (!*domains || registration_is_domain_of(domains, wanted->email))
		return true;
	http_problem_add_field(&wrong, "/email", "email-domain",
	                       "must belong to a mail domain that may register here: %s", domains);
	response_invalid_fields(r, &wrong);
	return false;
}

void registration_announce_way_in(const struct api *api, struct shutdown *shutdown)
{
	bool has_admin = false;
	enum err err = OK;
	if (is_set_to(api, "open"))
		return;
	do {
		struct pg_conn *conn = NULL;
		err = pg_pool_acquire(api->pg, &conn);
		if (err == OK)
			err = user_store_has_admin(conn, &has_admin);
		pg_pool_release(api->pg, conn);
	} while (err != OK && !shutdown_wait_ms(shutdown, RETRY_MS));
	if (err == OK && !has_admin)
		log_warning(api->log, "no_administrator",
		            LOG_TEXT("registration", api->config->registration),
		            LOG_TEXT("way_in", "links-api --create-admin EMAIL makes the first "
		                               "administrator: it prints a link that sets the "
		                               "password"));
}
