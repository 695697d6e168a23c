#include "lib/base/deadline.h"

#define NS_PER_MS 1000000L
#define NS_PER_S 1000000000L

struct timespec deadline_in_ms(int64_t ms)
{
	struct timespec moment;
	clock_gettime(CLOCK_MONOTONIC, &moment);
	long ns = moment.tv_nsec + (long)(ms % 1000) * NS_PER_MS;
	moment.tv_sec += ms / 1000 + ns / NS_PER_S;
	moment.tv_nsec = ns % NS_PER_S;
	return moment;
}

void deadline_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attributes);
	pthread_condattr_destroy(&attributes);
}
