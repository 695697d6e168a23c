#include "services/links-api/health/health_monitor.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/base/thread.h"

#define FRESH_US (2 * CLOCK_US_PER_S)
#define WAIT_MS 2000

struct health_monitor {
	const struct clock *clock;
	struct health_target targets[HEALTH_TARGETS_MAX];
	size_t target_count;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t is_wanted_cond, is_done_cond;
	bool is_wanted, is_stopping;
	/* Steady; of report. */
	int64_t done_at_us;
	/* The last complete one. */
	struct health_report report;
	/* Of the thread alone. */
	struct health_report next;
};

static void *run(void *arg)
{
	struct health_monitor *m = arg;
	pthread_mutex_lock(&m->mutex);
	while (!m->is_stopping) {
		if (!m->is_wanted) {
			pthread_cond_wait(&m->is_wanted_cond, &m->mutex);
			continue;
		}
		pthread_mutex_unlock(&m->mutex);
		health_probe_run(m->targets, m->target_count, &m->next);
		pthread_mutex_lock(&m->mutex);
		m->report = m->next;
		m->report.checked_at_us = clock_now_us(m->clock);
		m->done_at_us = clock_steady_us(m->clock);
		m->is_wanted = false;
		pthread_cond_broadcast(&m->is_done_cond);
	}
	pthread_mutex_unlock(&m->mutex);
	return NULL;
}

struct health_monitor *health_monitor_start(const char *urls, const struct clock *clock)
{
	struct health_monitor *m = mem_zero(sizeof(*m));
	m->clock = clock;
	if (health_target_parse_list(urls, m->targets, &m->target_count) != OK)
		abort(); /* the configuration has been checked */
	health_probe_start();
	pthread_mutex_init(&m->mutex, NULL);
	thread_cond_init(&m->is_wanted_cond);
	thread_cond_init(&m->is_done_cond);
	thread_spawn(&m->thread, "health", run, m);
	return m;
}

void health_monitor_stop(struct health_monitor *m)
{
	if (!m)
		return;
	pthread_mutex_lock(&m->mutex);
	m->is_stopping = true;
	pthread_cond_broadcast(&m->is_wanted_cond);
	pthread_mutex_unlock(&m->mutex);
	pthread_join(m->thread, NULL);
	pthread_cond_destroy(&m->is_done_cond);
	pthread_cond_destroy(&m->is_wanted_cond);
	pthread_mutex_destroy(&m->mutex);
	health_probe_end();
	free(m);
}

static bool is_fresh(const struct health_monitor *m)
{
	return m->report.checked_at_us > 0 && clock_steady_us(m->clock) - m->done_at_us <= FRESH_US;
}

void health_monitor_read(struct health_monitor *m, struct health_report *out)
{
	struct timespec until = thread_deadline_in_ms(WAIT_MS);
	pthread_mutex_lock(&m->mutex);
	int rc = 0;
	while (!is_fresh(m) && rc == 0) {
		m->is_wanted = true;
		pthread_cond_signal(&m->is_wanted_cond);
		rc = pthread_cond_timedwait(&m->is_done_cond, &m->mutex, &until);
	}
	*out = m->report;
	pthread_mutex_unlock(&m->mutex);
}
