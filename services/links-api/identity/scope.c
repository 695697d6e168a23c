#include "services/links-api/identity/scope.h"

#include <stdio.h>
#include <string.h>

const char *const scope_names[SCOPE_COUNT] = { "links:read", "links:write", "stats:read" };

static unsigned find(const char *name, size_t len)
{
	for (unsigned i = 0; i < SCOPE_COUNT; i++)
		if (strlen(scope_names[i]) == len && memcmp(scope_names[i], name, len) == 0)
			return 1U << i;
	return 0;
}

enum err scope_parse(const char *name, unsigned *scope)
{
	unsigned found = find(name, strlen(name));
	if (found == 0)
		return ERR_INVALID;
	*scope = found;
	return OK;
}

void scope_join(unsigned scopes, char out[static SCOPE_LIST_SIZE])
{
	size_t len = 0;
	out[0] = '\0';
	for (unsigned i = 0; i < SCOPE_COUNT; i++) {
		if (!(scopes & (1U << i)))
			continue;
		snprintf(out + len, SCOPE_LIST_SIZE - len, "%s%s", len > 0 ? "," : "",
		         scope_names[i]);
		len = strlen(out);
	}
}

unsigned scope_split(const char *list)
{
	unsigned scopes = 0;
	while (*list) {
		size_t len = strcspn(list, ",");
		scopes |= find(list, len);
		list += len;
		list += strspn(list, ",");
	}
	return scopes;
}
