#include "services/links-api/lists/nql_field.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/links/link_row.h"

/* The same state as link_state_at. */
#define STATE_NOW                                                                                  \
	"lower(CASE WHEN state = 'ACTIVE' AND expires_at <= statement_timestamp() THEN 'EXPIRED' " \
	"WHEN state = 'ACTIVE' AND starts_at > statement_timestamp() THEN 'SCHEDULED' ELSE state END)"

#define VERSION "(" LINK_ROW_VERSION ")"

/* clang-format off */
static const struct nql_field fields[] = {
	{ "id",                 NQL_FIELD_NUMBER,    false, false, false, "id" },
	{ "slug",               NQL_FIELD_TEXT,      false, false, true,  "slug" },
	{ "original_url",       NQL_FIELD_TEXT,      false, false, true,  "original_url" },
	{ "title",              NQL_FIELD_TEXT,      false, false, true,  "title" },
	{ "tag",                NQL_FIELD_TAGS,      false, false, false, "tags" },
	{ "tags",               NQL_FIELD_TAGS,      false, false, false, "tags" },
	{ "state",              NQL_FIELD_STATE,     false, false, false, STATE_NOW },
	{ "link_type",          NQL_FIELD_LINK_TYPE, false, false, false, "lower(link_type)" },
	{ "redirect_status",    NQL_FIELD_NUMBER,    false, false, false, "redirect_status" },
	{ "starts_at",          NQL_FIELD_TIME,      true,  false, false, "starts_at" },
	{ "expires_at",         NQL_FIELD_TIME,      true,  false, false, "expires_at" },
	{ "expired_url",        NQL_FIELD_TEXT,      true,  false, false, "expired_url" },
	{ "version",            NQL_FIELD_NUMBER,    false, false, false, VERSION },
	{ "humans",             NQL_FIELD_NUMBER,    false, true,  false, "visits" },
	{ "last_visited_at",    NQL_FIELD_TIME,      true,  true,  false, "NULLIF(visited_at, '-infinity')" },
	{ "destination_status", NQL_FIELD_NUMBER,    true,  false, false, "destination_status" },
	{ "last_checked_at",    NQL_FIELD_TIME,      true,  false, false, "last_checked_at" },
	{ "created_at",         NQL_FIELD_TIME,      false, false, false, "created_at" },
	{ "updated_at",         NQL_FIELD_TIME,      false, false, false, "updated_at" },
};
/* clang-format on */

const struct nql_field *nql_field_find(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (strlen(fields[i].name) == len && memcmp(fields[i].name, name, len) == 0)
			return &fields[i];
	}
	return NULL;
}
