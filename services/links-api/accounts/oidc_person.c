#include "services/links-api/accounts/oidc_person.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/mail_address.h"
#include "lib/base/utf8.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/accounts/oidc_groups.h"
#include "services/links-api/accounts/registration.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/oidc_store.h"
#include "services/links-api/identity/oidc_token.h"
#include "services/links-api/workspaces/invitation.h"

struct arrival {
	const struct oidc_person *person;
	const char *subject;
	/* "" = not verified. */
	char email[USER_EMAIL_SIZE];
	struct user user;
	/* NULL = none. */
	const char *refusal;
};

/* Those for the person's address; free rows. */
static enum err find_invitations(const struct arrival *a, struct pg_conn *conn,
                                 struct pg_result **rows)
{
	struct pg_params params = { 0 };
	pg_params_text(&params, a->email);
	return pg_conn_query(conn,
	                     INVITATION_SELECT
	                     "WHERE lower(i.email) = lower($1) AND " INVITATION_STATE " = 'open' "
	                     "AND w.deleted_at IS NULL ORDER BY i.workspace_id LIMIT 100",
	                     &params, rows);
}

/* The provider has verified the address, so its person need not show the links. */
static enum err accept_invitations(const struct arrival *a, struct pg_conn *conn)
{
	struct pg_result *rows = NULL;
	enum err err = find_invitations(a, conn, &rows);
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++) {
		struct invitation invitation;
		invitation_read(rows, i, &invitation);
		err = invitation_take(a->person->request, conn, &invitation);
		err = err == ERR_NOT_FOUND ? OK : err;
	}
	pg_result_free(rows);
	return err;
}

/* Sets why a person who is new here may have no account, if there is a reason. */
static enum err find_refusal(struct arrival *a, struct pg_conn *conn)
{
	const struct config *config = a->person->request->api->config;
	const struct oidc_provider *provider = a->person->provider;
	char hash[PASSWORD_HASH_SIZE];
	bool is_invited = provider->admits_everyone || *provider->required_claim ||
	                  *provider->required_claim_of_all;
	if (!*a->email) {
		a->refusal = "oidc-email";
		return OK;
	}
	enum err err = user_store_find(conn, a->email, &a->user, hash);
	if (err == OK)
		a->refusal = "oidc-exists";
	if (err != ERR_NOT_FOUND)
		return err;
	if (!is_invited)
		is_invited = strcmp(config->registration, "open") == 0 &&
		             (!*config->registration_domains ||
		              registration_is_domain_of(config->registration_domains, a->email));
	if (is_invited)
		return OK;
	struct pg_result *rows = NULL;
	err = find_invitations(a, conn, &rows);
	if (err == OK && pg_result_count(rows) == 0)
		a->refusal = "oidc-closed";
	pg_result_free(rows);
	return err;
}

/* As a mail to it would: the provider has seen to that. */
static enum err confirm_address(struct pg_conn *conn, int64_t user_id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, user_id);
	return pg_conn_query(
		conn, "UPDATE users SET email_confirmed_at = clock_timestamp() WHERE id = $1",
		&params, NULL);
}

static enum err create_person(struct arrival *a, struct pg_conn *conn,
                              struct oidc_identity *identity)
{
	struct request *r = a->person->request;
	char name[USER_NAME_SIZE] = "";
	const char *claimed = oidc_token_text(a->person->claims, "name");
	enum err err = find_refusal(a, conn);
	if (err != OK || a->refusal)
		return err;
	if (claimed)
		utf8_copy_clean(claimed, utf8_prefix(claimed, strlen(claimed), USER_NAME_CHARS_MAX),
		                name, sizeof(name));
	err = user_store_create(conn, a->email, name, NULL, &a->user);
	if (err == OK)
		err = oidc_store_add(conn, a->person->provider, a->subject, a->user.id, identity);
	if (err == OK)
		err = confirm_address(conn, a->user.id);
	r->user_id = a->user.id;
	if (err == OK)
		err = accept_invitations(a, conn);
	return err == OK ? audit_store_record(r, conn, "user.create", AUDIT_STORE_USER, a->user.id,
	                                      NULL)
	                 : err;
}

/* By somebody who is logged in. */
static enum err tie(struct arrival *a, struct pg_conn *conn, struct oidc_identity *identity,
                    bool is_tied)
{
	struct request *r = a->person->request;
	enum err err = oidc_store_find_session(conn, a->person->login->session_id,
	                                       a->person->login->user_id);
	if (err == ERR_NOT_FOUND)
		a->refusal = "oidc-session";
	else if (err == OK && is_tied && identity->user_id != a->person->login->user_id)
		a->refusal = "oidc-taken";
	if (err != OK || a->refusal || is_tied)
		return a->refusal ? OK : err;
	err = oidc_store_add(conn, a->person->provider, a->subject, a->person->login->user_id,
	                     identity);
	r->user_id = a->person->login->user_id;
	return err == OK
	               ? audit_store_record(r, conn, "user.tie", AUDIT_STORE_USER, r->user_id, NULL)
	               : err;
}

static enum err find_person(struct arrival *a, struct pg_conn *conn)
{
	struct oidc_identity identity = { 0 };
	enum err err = oidc_store_find(conn, a->person->provider, a->subject, &identity);
	bool is_tied = err == OK;
	if (err != OK && err != ERR_NOT_FOUND)
		return err;
	if (a->person->login->user_id)
		err = tie(a, conn, &identity, is_tied);
	else
		err = is_tied ? OK : create_person(a, conn, &identity);
	if (err != OK || a->refusal)
		return err;
	err = oidc_groups_apply(conn, a->person->request, &identity, a->person->provider,
	                        a->person->claims);
	if (err == OK)
		err = user_store_get(conn, identity.user_id, &a->user);
	if (err == OK && a->user.blocked)
		a->refusal = "oidc-blocked";
	return err;
}

/* A refusal rolls back. ERR_CONFLICT: the same person came twice at the same time. */
static enum err come_in_on(void *ctx, struct pg_conn *conn)
{
	struct arrival *a = ctx;
	a->refusal = NULL;
	enum err err = find_person(a, conn);
	return a->refusal ? ERR_INVALID : err;
}

enum err oidc_person_come_in(const struct oidc_person *person, struct user *user,
                             const char **refusal)
{
	const struct oidc_provider *provider = person->provider;
	struct pg_pool *pool = person->request->api->pg;
	struct arrival a = { .person = person, .subject = oidc_token_text(person->claims, "sub") };
	const char *email = oidc_token_email(person->claims, provider);
	*refusal = "oidc-claim";
	if (!oidc_token_has_pair(person->claims, provider->required_claim) ||
	    !oidc_token_has_pair(person->claims, provider->required_claim_of_all))
		return ERR_INVALID;
	if (email && mail_address_is_valid(email))
		snprintf(a.email, sizeof(a.email), "%s", email);
	enum err err = pg_pool_transact(pool, come_in_on, &a);
	if (err == ERR_CONFLICT)
		err = pg_pool_transact(pool, come_in_on, &a);
	*refusal = a.refusal;
	if (err == OK)
		*user = a.user;
	return err;
}
