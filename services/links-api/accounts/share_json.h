/* Pure. Shares as JSON. The caller owns each result. */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_SHARE_JSON_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_SHARE_JSON_H

#include "lib/json/json.h"
#include "services/links-api/destinations/public_base.h"
#include "services/links-api/identity/share_store.h"

/*
 * For the owner: {id, title, link: {id, slug, short_url, title}, tag, has_password, active,
 * expires_at, last_used_at, created_at}. Either link or tag is null.
 */
struct json *share_json_new(const struct share *share, const struct public_base *base);

/*
 * For readers: {title, link: {slug, short_url, title}, tag, expires_at}. Says nothing of the owner
 * and not where the link leads.
 */
struct json *share_json_for_reader(const struct share *share, const struct public_base *base);

#endif
