#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/env.h"
#include "lib/postgres/pg_conn.h"
#include "lib/postgres/pg_libpq.h"

#define NAME "PG_URL"
#define PARAMETER_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

/* Several hosts may have a port each; an empty one is the default. */
static size_t check_ports(const char *ports, struct strbuf *problems)
{
	for (;; ports++) {
		size_t len = strcspn(ports, ",");
		if (len > 0 && !env_check_is_port(ports, len))
			return env_check_reject(NAME, ports, len, "is not a port from 1 to 65535",
			                        problems);
		ports += len;
		if (*ports == '\0')
			return 0;
	}
}

/* libpq prefers the URL's, so one of a provider's guide would weaken what the manifests demand. */
static size_t check_sslmode(const char *value, struct strbuf *problems)
{
	const char *demanded = getenv("PGSSLMODE");
	size_t wrong =
		env_check_one_of(value, "disable, allow, prefer, require, verify-ca, verify-full",
	                         false, NAME ": sslmode", problems);
	if (wrong == 0 && demanded && demanded[0] && strcmp(value, demanded) != 0)
		wrong = env_check_reject(NAME, value, strlen(value),
		                         "is its sslmode, and PGSSLMODE another one: leave one out",
		                         problems);
	return wrong;
}

static size_t check_option(const char *keyword, const char *value, struct strbuf *problems)
{
	if (strcmp(keyword, "port") == 0)
		return check_ports(value, problems);
	if (strcmp(keyword, "sslmode") == 0)
		return check_sslmode(value, problems);
	if (strcmp(keyword, "sslrootcert") == 0 || strcmp(keyword, "sslcert") == 0 ||
	    strcmp(keyword, "sslkey") == 0)
		return env_check_file(value, NAME, problems);
	return 0;
}

/*
 * In a URL, an "@" anywhere else than before the host, or a "/" or "?" before it, shows that a
 * password is not escaped. libpq would take a part of it for the host, the port or a parameter, and
 * quote that in messages. It understands a "?" in a password, but tools/backup does not.
 */
static bool has_misplaced_at(const char *url)
{
	/* "postgres://" or "postgresql://"; a key=value string does not begin like that. */
	const char *authority = strncmp(url, "postgres", 8) == 0 ? strstr(url, "://") : NULL;
	if (!authority)
		return false;
	authority += strlen("://");
	const char *at = strchr(authority, '@');
	return at && (authority[strcspn(authority, "/?@")] != '@' || strchr(at + 1, '@'));
}

/* why, the message of libpq, may quote a password, so only an unknown parameter is repeated. */
static size_t reject_syntax(const char *why, struct strbuf *problems)
{
	static const char *const unknown[] = { "invalid URI query parameter: \"",
		                               "invalid connection option \"" };
	for (size_t i = 0; i < ARRAY_SIZE(unknown) && why; i++) {
		size_t prefix_len = strlen(unknown[i]);
		if (strncmp(why, unknown[i], prefix_len) != 0)
			continue;
		const char *parameter = why + prefix_len;
		size_t len = strspn(parameter, PARAMETER_CHARACTERS);
		if (len > 0 && parameter[len] == '"')
			return env_check_reject(NAME, parameter, len, "is not a parameter of libpq",
			                        problems);
	}
	return env_expect(
		false, NAME,
		"is not a libpq connection string like postgresql://user:password@host:5432/database; "
		"in names, passwords and parameters, write % as %25, / as %2F, ? as %3F and @ as %40",
		problems);
}

size_t pg_conn_url_check(const char *url, struct strbuf *problems)
{
	char *why = NULL;
	PQconninfoOption *options = has_misplaced_at(url) ? NULL : PQconninfoParse(url, &why);
	size_t wrong = options ? 0 : reject_syntax(why, problems);
	PQfreemem(why);
	/* The first problem is enough: a second one may follow from it. */
	for (PQconninfoOption *each = options; each && each->keyword && wrong == 0; each++) {
		if (each->val && each->val[0])
			wrong += check_option(each->keyword, each->val, problems);
	}
	PQconninfoFree(options);
	const char *authorities = getenv("PGSSLROOTCERT");
	if (authorities && strcmp(authorities, "system") != 0)
		wrong += env_check_file(authorities, "PGSSLROOTCERT", problems);
	return wrong;
}
