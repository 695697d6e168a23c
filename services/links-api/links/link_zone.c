#include "services/links-api/links/link_zone.h"

#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/postgres/pg_pool.h"
#include "lib/postgres/sql_column.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/time_zones.h"

#define DAY_S 86400
#define DAYS (15 * 366)
/* Clocks change at quarters of an hour in UTC. */
#define QUARTER_S 900
#define QUARTERS (DAY_S / QUARTER_S + 1)

/* The days on which the offset changes: their starts, at most one less than a zone may have times. */
static size_t find_days(const int32_t *offsets, int64_t from_s, int64_t *days)
{
	size_t count = 0;
	for (size_t i = 1; i < DAYS && count < LINK_ZONE_TRANSITIONS_MAX - 1; i++)
		if (offsets[i] != offsets[i - 1])
			days[count++] = from_s + (int64_t)(i - 1) * DAY_S;
	return count;
}

static void add_times(const int64_t *days, size_t count, const int32_t *offsets,
                      Waymark__V1__LinkZone *out)
{
	for (size_t i = 0; i < count; i++, offsets += QUARTERS) {
		for (size_t k = 1; k < QUARTERS; k++) {
			if (offsets[k] == offsets[k - 1] ||
			    out->n_since_s == LINK_ZONE_TRANSITIONS_MAX)
				continue;
			out->since_s[out->n_since_s++] = days[i] + (int64_t)k * QUARTER_S;
			out->offset_s[out->n_offset_s++] = offsets[k];
		}
	}
}

enum err link_zone_find(link_zone_offsets ask, void *ctx, int64_t now_us,
                        Waymark__V1__LinkZone *out)
{
	int64_t days[LINK_ZONE_TRANSITIONS_MAX];
	int64_t from_s = (now_us / CLOCK_US_PER_DAY - 1) * DAY_S;
	size_t count = 0;
	int32_t *offsets = mem_array(DAYS, sizeof(*offsets));
	out->since_s = mem_array(LINK_ZONE_TRANSITIONS_MAX, sizeof(*out->since_s));
	out->offset_s = mem_array(LINK_ZONE_TRANSITIONS_MAX, sizeof(*out->offset_s));
	enum err err = ask(ctx, &from_s, 1, DAY_S, DAYS, offsets);
	if (err == OK) {
		out->since_s[out->n_since_s++] = 0;
		out->offset_s[out->n_offset_s++] = offsets[0];
		count = find_days(offsets, from_s, days);
	}
	free(offsets);
	if (err != OK || count == 0)
		return err;
	offsets = mem_array(count * QUARTERS, sizeof(*offsets));
	err = ask(ctx, days, count, QUARTER_S, QUARTERS, offsets);
	if (err == OK)
		add_times(days, count, offsets, out);
	free(offsets);
	return err;
}

/* --- PostgreSQL --- */

struct question {
	struct pg_conn *conn;
	const char *zone;
};

static enum err read_offsets(void *ctx, const int64_t *starts, size_t count, int64_t step_s,
                             size_t steps, int32_t *out)
{
	const struct question *question = ctx;
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	struct sql_column column;
	sql_column_init_for(&column, SQL_COLUMN_INT8, count, sizeof(*starts));
	for (size_t i = 0; i < count; i++)
		sql_column_add_int(&column, starts[i]);
	enum err err = sql_column_param(&column, &params);
	pg_params_int(&params, step_s);
	pg_params_int(&params, (int64_t)steps);
	pg_params_text(&params, time_zones_in_sql(question->zone));
	if (err == OK)
		err = pg_conn_query(
			question->conn,
			"SELECT extract(epoch FROM (at AT TIME ZONE $4::text) - (at AT TIME ZONE 'UTC'))::int "
			"FROM unnest($1::bigint[]) WITH ORDINALITY AS start (s, place) "
			"CROSS JOIN generate_series(0, $3::int - 1) AS step "
			"CROSS JOIN LATERAL (SELECT to_timestamp(s + step * $2::bigint) AS at) AS moment "
			"ORDER BY place, step",
			&params, &rows);
	if (err == OK && pg_result_count(rows) != count * steps)
		err = ERR_INTERNAL;
	for (size_t i = 0; err == OK && i < count * steps; i++)
		out[i] = (int32_t)pg_result_int(rows, i, 0);
	pg_result_free(rows);
	sql_column_clear(&column);
	return err;
}

static void report(const Waymark__V1__LinkExtras *extras, size_t zone,
                   struct http_problem_fields *wrong)
{
	for (size_t i = 0; i < extras->n_rules; i++) {
		const Waymark__V1__LinkRule *rule = extras->rules[i];
		char pointer[HTTP_PROBLEM_POINTER_SIZE];
		member_point(pointer, "", "/rules/%zu/when/time_zone", i);
		for (size_t k = 0; k < rule->n_conditions; k++)
			if (rule->conditions[k]->zone == zone + 1)
				http_problem_add_field(wrong, pointer, "time-zone",
				                       "must be an IANA time zone like "
				                       "Europe/Berlin");
	}
}

enum err link_zone_fill(const struct request *r, struct link_extras_request *request,
                        struct http_problem_fields *wrong)
{
	Waymark__V1__LinkExtras *extras = request->extras;
	struct pg_conn *conn = NULL;
	if (!extras || extras->n_zones == 0)
		return OK;
	enum err err = pg_pool_acquire(request_pg(r), &conn);
	if (err != OK)
		return err;
	bool is_unknown = false;
	for (size_t i = 0; err == OK && i < extras->n_zones; i++) {
		struct question question = { conn, extras->zones[i]->name };
		err = time_zones_check(r->api->zones, conn, question.zone);
		if (err == OK)
			err = link_zone_find(read_offsets, &question, request_now_us(r),
			                     extras->zones[i]);
		if (err != ERR_NOT_FOUND)
			continue;
		report(extras, i, wrong);
		is_unknown = true;
		err = OK;
	}
	pg_pool_release(request_pg(r), conn);
	return err == OK && is_unknown ? ERR_INVALID : err;
}
