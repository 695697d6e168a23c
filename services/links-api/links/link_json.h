/*
 * Pure. A link as JSON for its workspace: {id, workspace_id, created_by, slug, short_url, original_url,
 * aliases, external_id, destination_host_display, destination_blocked, blocked_reason, link_type, state, redirect_status,
 * effective_redirect_status, starts_at, expires_at, expired_url, title, tags, notes, utm_…, rules,
 * split, forward_query, forward_path, max_visits, visits_left, has_password, preview, version, humans,
 * bots, total, last_visited_at, destination_status, last_checked_at, created_at, updated_at,
 * deleted_at, purge_at}. workspace_id is null for a link of nobody. destination_blocked is true if base->hosts does
 * not allow the host of original_url now. An ACTIVE link with no visits left is "used_up".
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_JSON_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_JSON_H

#include <stdint.h>

#include "lib/json/json.h"
#include "lib/links/link.h"
#include "services/links-api/destinations/public_base.h"
#include "services/links-api/links/link_details.h"

/* place: of the link in details. state is computed for now_us. The caller owns the result. */
struct json *link_json_new(const struct link *link, const struct link_details *details,
                           size_t place, const struct public_base *base, int64_t now_us);

#endif
