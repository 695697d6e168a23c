#include "services/redirector/busiest_address.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/mem.h"
#include "services/redirector/cache/slug_hash.h"

struct busiest_address {
	const struct log *log;
	struct slug_hash_key key;
	pthread_mutex_t lock;
	uint64_t counted; /* the winner of the vote of the last window; 0: none yet */
	uint64_t leader;  /* of the vote of this window */
	unsigned visitors, matches, votes;
	double ratio;
	bool is_warned;
};

static double ratio_of(void *ctx)
{
	struct busiest_address *busiest = ctx;
	pthread_mutex_lock(&busiest->lock);
	double ratio = busiest->ratio;
	pthread_mutex_unlock(&busiest->lock);
	return ratio;
}

struct busiest_address *busiest_address_new(const struct log *log, struct metrics *metrics)
{
	struct busiest_address *busiest = mem_zero(sizeof(*busiest));
	busiest->log = log;
	slug_hash_key_generate(&busiest->key);
	pthread_mutex_init(&busiest->lock, NULL);
	metrics_gauge_callback(metrics, "waymark_busiest_address_ratio",
	                       "Share of recent visitors that had the same address.", NULL,
	                       ratio_of, busiest);
	return busiest;
}

void busiest_address_free(struct busiest_address *busiest)
{
	if (!busiest)
		return;
	pthread_mutex_destroy(&busiest->lock);
	free(busiest);
}

/* Call it with the lock held. */
static void end_window(struct busiest_address *busiest)
{
	busiest->ratio = (double)busiest->matches / BUSIEST_ADDRESS_WINDOW;
	busiest->counted = busiest->leader;
	busiest->visitors = busiest->matches = busiest->votes = 0;
	if (busiest->ratio > BUSIEST_ADDRESS_WARNING && !busiest->is_warned) {
		log_warning(busiest->log, "visitors_share_one_address",
		            LOG_DOUBLE("ratio", busiest->ratio),
		            LOG_TEXT("hint", "check TRUSTED_PROXIES and externalTrafficPolicy"));
		busiest->is_warned = true;
	} else if (busiest->ratio < BUSIEST_ADDRESS_WARNING / 2) {
		busiest->is_warned = false;
	}
}

void busiest_address_record(struct busiest_address *busiest, const struct client_ip *visitor)
{
	if (!visitor->known || pthread_mutex_trylock(&busiest->lock) != 0)
		return;
	uint64_t hash = slug_hash(&busiest->key, (const char *)visitor->bytes, 16) | 1;
	busiest->matches += hash == busiest->counted;
	if (busiest->votes == 0)
		busiest->leader = hash;
	busiest->votes += hash == busiest->leader ? 1U : -1U;
	if (++busiest->visitors == BUSIEST_ADDRESS_WINDOW)
		end_window(busiest);
	pthread_mutex_unlock(&busiest->lock);
}
