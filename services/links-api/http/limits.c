#include "services/links-api/http/limits.h"

#include <stddef.h>

#define MINUTE_S 60
#define HOUR_S 3600
#define DAY_S 86400

struct rate_limit_rule limits_rule(const struct config *config, enum limits_name name)
{
#define SIZE(member) offsetof(struct config, member)
	/* clang-format off */
	static const struct {
		const char *name;
		size_t max;
		int64_t window_s;
		const char *detail;
	} limits[] = {
		[LIMITS_REQUESTS]        = { "requests",          SIZE(requests_per_minute),        MINUTE_S,
			"Your account has sent too many requests in a minute." },
		[LIMITS_SHARE_REQUESTS]  = { "requests",          SIZE(requests_per_minute),        MINUTE_S,
			"Your network has read this share too often in a minute." },
		[LIMITS_BULK_LINKS]      = { "bulk-links",        SIZE(bulk_links_per_minute),      MINUTE_S,
			"The bulk requests of your account contain too many links for one minute." },
		[LIMITS_ANONYMOUS_LINKS] = { "anonymous-links",   SIZE(anonymous_links_per_hour),   HOUR_S,
			"Your network has reached its hourly limit of links created without a login." },
		[LIMITS_ACCOUNTS]        = { "accounts",          SIZE(accounts_per_hour),          HOUR_S,
			"Too many registrations from your network." },
		[LIMITS_LOGIN]           = { "login",             SIZE(login_failures),             15 * MINUTE_S,
			"Too many wrong passwords for this account or share from your network." },
		[LIMITS_LOGIN_NETWORK]   = { "login-network",     SIZE(login_failures_per_network), HOUR_S,
			"Too many wrong passwords from your network." },
		[LIMITS_LOGIN_ACCOUNT]   = { "login-account",     SIZE(login_failures_per_account), 15 * MINUTE_S,
			"Too many wrong passwords for this account or share. Use a network where the password was right before, or wait." },
		[LIMITS_PASSWORD]        = { "password",          SIZE(login_failures),             15 * MINUTE_S,
			"Too many wrong passwords with this access token or session." },
		[LIMITS_LINKS]           = { "links",             SIZE(links_per_day),              DAY_S,
			"Your account has reached its limit of new links, which an administrator can raise." },
		[LIMITS_IDEMPOTENCY_BYTES] = { "idempotency-bytes", SIZE(idempotency_bytes_per_day), DAY_S,
			"The responses to your requests with an Idempotency-Key take too much space." },
	};
	/* clang-format on */
#undef SIZE
	const int64_t *max = (const int64_t *)((const char *)config + limits[name].max);
	return (struct rate_limit_rule){ limits[name].name, limits[name].detail, *max,
		                         limits[name].window_s };
}
