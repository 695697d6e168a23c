/*
 * The providers of single sign-on (OpenID Connect Core 1.0): the JSON file OIDC_CONFIG, which
 * docs/single-sign-on.md describes. It is read once, at the start. Pure but for reading the files.
 *
 *   {"providers": [{"id": "company", "name": "Company", "issuer": "https://id.example.com",
 *                   "client_id": "waymark", "client_secret_file": "/run/secrets/oidc"}]}
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_OIDC_CONFIG_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_OIDC_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define OIDC_CONFIG_PROVIDERS_MAX 8
#define OIDC_CONFIG_BYTES_MAX ((size_t)256 * 1024)
#define OIDC_CONFIG_URL_MAX 1024
#define OIDC_CONFIG_SECRET_SIZE 1025

/* Texts are borrowed from the document of the configuration; "" = not given. */
struct oidc_provider {
	/* Lower-case letters, digits and dashes: part of the addresses of its logins. */
	const char *id;
	/* For people. */
	const char *name;
	/* Compared byte by byte with what the provider says. */
	const char *issuer;
	const char *client_id;
	/* "" = a public client. */
	char client_secret[OIDC_CONFIG_SECRET_SIZE];
	/* Separated by spaces, with "openid". */
	const char *scopes;
	/* Certificates that sign the provider's; "" = those of the system. */
	const char *ca_file;
	/* NAME=VALUE that everybody must have: its own, and OIDC_REQUIRED_CLAIM. */
	const char *required_claim;
	const char *required_claim_of_all;
	/* Where the names of groups are; "" = nowhere. */
	const char *groups_claim;
	/* Names of groups; NULL = the groups decide nothing about administrators. */
	const struct json *admin_groups;
	/* {group: {workspace_id, role}}, or NULL. */
	const struct json *workspace_roles;
	/* Names like "RS256"; NULL = the default (oidc_token.h). */
	const struct json *algorithms;
	/* Whoever can log in there gets an account here. */
	bool admits_everyone;
	/* Addresses without email_verified are verified. */
	bool trusts_email;
};

struct oidc_config {
	struct json *document;
	size_t count;
	struct oidc_provider providers[OIDC_CONFIG_PROVIDERS_MAX];
};

/*
 * Parses the content of the file. required_claim: OIDC_REQUIRED_CLAIM, borrowed. ERR_INVALID: each
 * problem is a line of problems, which begins with "OIDC_CONFIG: " and names the member by its JSON
 * pointer; never the value of a secret. Reads client_secret_file.
 */
enum err oidc_config_parse(const char *text, size_t len, const char *required_claim,
                           struct oidc_config *out, struct strbuf *problems) MUST_CHECK;

/* Reads the file. path "" = no providers. Errors as above. */
enum err oidc_config_read(const char *path, const char *required_claim, struct oidc_config *out,
                          struct strbuf *problems) MUST_CHECK;

/* For --check-config: the number of problems, 0 or 1; problems has all of them. */
size_t oidc_config_check(const char *path, const char *required_claim, struct strbuf *problems);

/* Overwrites the secrets. */
void oidc_config_clear(struct oidc_config *config);

/* NULL: there is no such provider. */
const struct oidc_provider *oidc_config_find(const struct oidc_config *config, const char *id);

/*
 * Whether we may send requests and people there: https, or http to this machine (localhost, 127.0.0.0/8,
 * [::1]); without user, fragment, spaces and control characters, and at most OIDC_CONFIG_URL_MAX bytes.
 */
bool oidc_config_is_url(const char *url);

#endif
