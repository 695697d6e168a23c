#include "services/links-api/health/health_handlers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/links-api/health/health_json.h"
#include "services/links-api/health/health_monitor.h"
#include "services/links-api/http/response.h"
#include "services/links-api/outbox/outbox_relay.h"

#define SELF "links-api"

/* Returns the connection before the probe, which may take two seconds. */
static enum err read_backlog(const struct request *r, struct health_backlog *backlog)
{
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(request_pg(r), &conn);
	if (err == OK)
		err = health_store_read(conn, backlog);
	pg_pool_release(request_pg(r), conn);
	return err;
}

/* The process that answers, unless HEALTH_URLS has all processes of this service. */
static void add_self(const struct request *r, struct health_report *report)
{
	for (size_t i = 0; i < report->count; i++)
		if (strcmp(report->processes[i].name, SELF) == 0)
			return;
	if (report->count == HEALTH_PROBE_PROCESSES_MAX)
		return;
	struct health_process *self = &report->processes[report->count++];
	*self = (struct health_process){
		.name = SELF, .status = HEALTH_READY, .events_queued = -1, .events_dropped = -1
	};
	if (!pg_pool_is_reachable(r->api->pg)) {
		self->status = HEALTH_UNREADY;
		snprintf(self->failing[self->failing_count++], HEALTH_PROBE_CHECK_SIZE, "postgres");
	}
}

enum http_progress health_handlers_get(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct health_backlog *backlog = mem_zero(sizeof(*backlog));
	struct health_report *report = mem_zero(sizeof(*report));
	enum err err = read_backlog(r, backlog);
	if (err == OK) {
		health_monitor_read(r->api->health, report);
		add_self(r, report);
	}
	struct health_stores stores = {
		.redis_is_reachable = redis_pool_is_reachable(r->api->redis),
		.kafka_is_reachable = outbox_relay_reaches_kafka(r->api->relay),
	};
	enum http_progress progress =
		err == OK ? response_json(r, 200, health_json_new(report, backlog, stores))
			  : response_failure(r, err);
	free(report);
	free(backlog);
	return progress;
}
