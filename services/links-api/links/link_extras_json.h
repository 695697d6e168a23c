/* Pure. The extras of a link as JSON, as a request has them, but for the password. */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_EXTRAS_JSON_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_EXTRAS_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "lib/json/json.h"
#include "lib/links/link.h"

/*
 * Sets {rules, split, forward_query, forward_path, max_visits, has_password, preview,
 * effective_redirect_status} of a link.
 */
void link_extras_json_set(struct json *json, const struct link_entry *entry);

/*
 * What a change of len bytes of extras to those of after changed, as its history shows it: [{name,
 * from, to}]. Of a password it says only whether there was and is one. NULL: nothing. The caller owns
 * the result.
 */
struct json *link_extras_json_changes(const void *before, size_t len,
                                      const struct link_entry *after);

#endif
