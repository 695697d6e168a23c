#include "services/redirector/feed/corrected_clock.h"

#include <stdlib.h>

#define UNKNOWN INT64_MIN

static int64_t now_us(const struct clock *self)
{
	const struct corrected_clock *corrected = (const struct corrected_clock *)self;
	int64_t machine_us = clock_now_us(corrected->machine);
	int64_t lead_us = atomic_load_explicit(&corrected->lead_us, memory_order_relaxed);
	if (lead_us == UNKNOWN)
		return machine_us;
	int64_t postgres_us = clock_steady_us(corrected->machine) + lead_us;
	return machine_us > postgres_us ? machine_us : postgres_us;
}

static int64_t steady_us(const struct clock *self)
{
	return clock_steady_us(((const struct corrected_clock *)self)->machine);
}

void corrected_clock_init(struct corrected_clock *corrected, const struct clock *machine,
                          const struct log *log)
{
	*corrected = (struct corrected_clock){
		.clock = { .now_us = now_us, .steady_us = steady_us },
		.machine = machine,
		.log = log,
		.window_end_us = clock_steady_us(machine) + CORRECTED_CLOCK_WINDOW_US,
		.current_us = UNKNOWN,
		.previous_us = UNKNOWN,
	};
	atomic_init(&corrected->lead_us, UNKNOWN);
}

int64_t corrected_clock_offset_us(const struct corrected_clock *corrected)
{
	int64_t lead_us = atomic_load(&corrected->lead_us);
	return lead_us == UNKNOWN ? 0
	                          : clock_now_us(corrected->machine) -
	                                    clock_steady_us(corrected->machine) - lead_us;
}

static void log_offset(struct corrected_clock *corrected)
{
	int64_t offset_us = corrected_clock_offset_us(corrected);
	bool is_too_large = llabs(offset_us) > CORRECTED_CLOCK_OFFSET_MAX_US;
	if (is_too_large && !corrected->is_logged)
		log_warning(corrected->log, "clock_offset_too_large",
		            LOG_INT("offset_ms", offset_us / CLOCK_US_PER_MS));
	else if (!is_too_large && corrected->is_logged)
		log_info(corrected->log, "clock_offset_normal",
		         LOG_INT("offset_ms", offset_us / CLOCK_US_PER_MS));
	corrected->is_logged = is_too_large;
}

/* After an outage the first watermarks may be late, so the last window before it still counts. */
static void begin_window(struct corrected_clock *corrected, int64_t now)
{
	log_offset(corrected);
	corrected->previous_us = corrected->current_us;
	corrected->current_us = UNKNOWN;
	corrected->window_end_us = now + CORRECTED_CLOCK_WINDOW_US;
}

void corrected_clock_learn(struct corrected_clock *corrected, int64_t postgres_us,
                           int64_t version_base)
{
	int64_t now = clock_steady_us(corrected->machine);
	int64_t lead_us = postgres_us - now;
	if (version_base < corrected->version_base)
		return;
	if (version_base > corrected->version_base) {
		corrected->version_base = version_base;
		corrected->current_us = corrected->previous_us = UNKNOWN;
	}
	if (now >= corrected->window_end_us)
		begin_window(corrected, now);
	if (lead_us > corrected->current_us)
		corrected->current_us = lead_us;
	int64_t largest_us = corrected->current_us > corrected->previous_us
	                             ? corrected->current_us
	                             : corrected->previous_us;
	atomic_store(&corrected->lead_us, largest_us);
}
