#include "services/redirector/client_limiter.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/limiter.h"
#include "lib/base/mem.h"

#define NETWORKS_MAX 2
/* What an IPv6 /48 may do more than a /64. */
#define SITE_FACTOR 4

/* What an address counts as: its first len bytes. */
struct network {
	size_t len;
	struct limiter_rule rule;
};

struct client_limiter {
	int64_t per_minute;
	struct limiter *misses;
};

struct client_limiter *client_limiter_new(int64_t per_minute, const struct clock *clock)
{
	struct client_limiter *limiter = mem_zero(sizeof(*limiter));
	limiter->per_minute = per_minute;
	limiter->misses = limiter_new(clock);
	return limiter;
}

void client_limiter_free(struct client_limiter *limiter)
{
	if (!limiter)
		return;
	limiter_free(limiter->misses);
	free(limiter);
}

static struct network network_of(const struct client_limiter *limiter, size_t len, int64_t factor)
{
	return (struct network){ len, { factor * limiter->per_minute, 60 * CLOCK_US_PER_S } };
}

/* IPv4 is stored v4-mapped: ::ffff:a.b.c.d. Returns the number of networks. */
static size_t networks_of(const struct client_limiter *limiter, const struct client_ip *ip,
                          struct network out[static NETWORKS_MAX])
{
	static const uint8_t mapped[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	if (limiter->per_minute == 0 || !ip->known)
		return 0;
	bool is_ipv4 = memcmp(ip->bytes, mapped, sizeof(mapped)) == 0;
	out[0] = network_of(limiter, is_ipv4 ? 16 : 8, 1);
	out[1] = network_of(limiter, 6, SITE_FACTOR);
	return is_ipv4 ? 1 : 2;
}

void client_limiter_record_miss(struct client_limiter *limiter, const struct client_ip *ip)
{
	struct network networks[NETWORKS_MAX];
	size_t count = networks_of(limiter, ip, networks);
	for (size_t i = 0; i < count; i++)
		limiter_add(limiter->misses, ip->bytes, networks[i].len, &networks[i].rule, 1);
}

int64_t client_limiter_retry_after_s(struct client_limiter *limiter, const struct client_ip *ip)
{
	struct network networks[NETWORKS_MAX];
	size_t count = networks_of(limiter, ip, networks);
	int64_t longest_us = 0;
	for (size_t i = 0; i < count; i++) {
		int64_t owed_us = limiter_owed_us(limiter->misses, ip->bytes, networks[i].len);
		int64_t wait_us = limiter_wait_us(&networks[i].rule, owed_us);
		longest_us = wait_us > longest_us ? wait_us : longest_us;
	}
	return (longest_us + CLOCK_US_PER_S - 1) / CLOCK_US_PER_S;
}
