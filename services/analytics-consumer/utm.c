#include "services/analytics-consumer/utm.h"

#include <string.h>

#include "lib/base/utf8.h"
#include "lib/clicks/redirect_event.h"
#include "lib/net/http_query.h"

void utm_value(const char *query, const char *name, char *out, size_t size)
{
	/* A decoded value is never longer than the encoded one, so it always fits. */
	char value[REDIRECT_EVENT_QUERY_MAX + 1];
	out[0] = '\0';
	if (http_query_value(query, name, value, sizeof(value)) == OK)
		utf8_copy_clean(value, strlen(value), out, size);
}
