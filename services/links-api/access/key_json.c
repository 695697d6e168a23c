#include "services/links-api/access/key_json.h"

#include <stdio.h>

#include "services/links-api/access/scope.h"

#define ELLIPSIS "\xe2\x80\xa6"

struct json *key_json_new(const struct api_key *key)
{
	char hint[API_KEY_HINT_SIZE + sizeof(ELLIPSIS)];
	struct json *scopes = json_new_array();
	for (unsigned i = 0; i < SCOPE_COUNT; i++)
		if (key->scopes & (1U << i))
			json_append_text(scopes, scope_names[i]);
	snprintf(hint, sizeof(hint), "%s" ELLIPSIS, key->hint);

	struct json *object = json_new_object();
	json_set_int(object, "id", key->id);
	json_set_text(object, "name", key->name);
	json_set(object, "scopes", scopes);
	json_set_text(object, "hint", hint);
	json_set_time(object, "expires_at", key->expires_at_us);
	json_set_time(object, "last_used_at", key->last_used_at_us);
	json_set_time(object, "created_at", key->created_at_us);
	return object;
}
