#include <stdbool.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/env.h"
#include "lib/base/env_check.h"
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

static size_t check_sslmode(const char *mode, struct strbuf *problems)
{
	static const char *const modes[] = { "disable", "allow",     "prefer",
		                             "require", "verify-ca", "verify-full" };
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (strcmp(mode, modes[i]) == 0)
			return 0;
	}
	return env_check_reject(
		NAME, mode, strlen(mode),
		"is not one of disable, allow, prefer, require, verify-ca, verify-full (sslmode)",
		problems);
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
 * why is the message of libpq. Only an unknown parameter is repeated: other messages may quote the
 * password. So may a URL whose password has an unescaped "/": then an "@" follows the "?".
 */
static size_t reject_syntax(const char *url, const char *why, struct strbuf *problems)
{
	static const char *const unknown[] = { "invalid URI query parameter: \"",
		                               "invalid connection option \"" };
	const char *query = strchr(url, '?');
	bool may_quote_password = !why || (query && strchr(query, '@'));
	for (size_t i = 0; i < ARRAY_SIZE(unknown) && !may_quote_password; i++) {
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
		"is not a libpq connection string like postgresql://user:password@host:5432/database",
		problems);
}

size_t pg_conn_url_check(const char *url, struct strbuf *problems)
{
	char *why = NULL;
	PQconninfoOption *options = PQconninfoParse(url, &why);
	size_t wrong = options ? 0 : reject_syntax(url, why, problems);
	PQfreemem(why);
	/* The first problem is enough: a second one may follow from it. */
	for (PQconninfoOption *each = options; each && each->keyword && wrong == 0; each++) {
		if (each->val && each->val[0])
			wrong += check_option(each->keyword, each->val, problems);
	}
	PQconninfoFree(options);
	return wrong;
}
