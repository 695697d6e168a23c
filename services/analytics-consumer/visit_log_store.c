#include "services/analytics-consumer/visit_log_store.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/net/sql_column.h"

/* The columns in the order of the statements below. */
enum column {
	DAY,
	EVENT_ID,
	OCCURRED_AT,
	LINK_ID,
	SLUG,
	STATUS,
	LATENCY_US,
	IS_BOT,
	BOT_REASON,
	VISITOR_HASH,
	IS_UNIQUE,
	CLIENT_NETWORK,
	COUNTRY,
	CITY,
	REFERRER_HOST,
	BROWSER,
	OS,
	DEVICE,
	LANGUAGE,
	UTM_SOURCE,
	UTM_MEDIUM,
	UTM_CAMPAIGN,
	SERVED_FROM,
	REGION,
	BROWSER_VERSION,
	OS_VERSION,
	REFERRER_SOURCE,
	COLUMNS,
};

static const enum sql_column_type types[COLUMNS] = {
	[DAY] = SQL_COLUMN_DATE,
	[EVENT_ID] = SQL_COLUMN_UUID,
	[OCCURRED_AT] = SQL_COLUMN_TIME,
	[LINK_ID] = SQL_COLUMN_INT8,
	[SLUG] = SQL_COLUMN_TEXT,
	[STATUS] = SQL_COLUMN_INT2,
	[LATENCY_US] = SQL_COLUMN_INT4,
	[IS_BOT] = SQL_COLUMN_BOOL,
	[BOT_REASON] = SQL_COLUMN_TEXT,
	[VISITOR_HASH] = SQL_COLUMN_BYTES,
	[IS_UNIQUE] = SQL_COLUMN_BOOL,
	[CLIENT_NETWORK] = SQL_COLUMN_TEXT,
	[COUNTRY] = SQL_COLUMN_TEXT,
	[CITY] = SQL_COLUMN_TEXT,
	[REFERRER_HOST] = SQL_COLUMN_TEXT,
	[BROWSER] = SQL_COLUMN_TEXT,
	[OS] = SQL_COLUMN_TEXT,
	[DEVICE] = SQL_COLUMN_TEXT,
	[LANGUAGE] = SQL_COLUMN_TEXT,
	[UTM_SOURCE] = SQL_COLUMN_TEXT,
	[UTM_MEDIUM] = SQL_COLUMN_TEXT,
	[UTM_CAMPAIGN] = SQL_COLUMN_TEXT,
	[SERVED_FROM] = SQL_COLUMN_TEXT,
	[REGION] = SQL_COLUMN_TEXT,
	[BROWSER_VERSION] = SQL_COLUMN_TEXT,
	[OS_VERSION] = SQL_COLUMN_TEXT,
	[REFERRER_SOURCE] = SQL_COLUMN_TEXT,
};

/* unnest in the list of results, not in FROM: rows then stream into the table instead of through a tuple store. */
#define INSERT                                                                                                         \
	"INSERT INTO visit_log (day, event_id, occurred_at, link_id, slug, status, latency_us, is_bot, bot_reason, "   \
	"visitor_hash, is_unique, client_network, country, city, referrer_host, browser, os, device, language, "       \
	"utm_source, utm_medium, utm_campaign, served_from, region, browser_version, os_version, referrer_source) "    \
	"SELECT unnest($1::date[]), unnest($2::uuid[]), unnest($3::timestamptz[]), unnest($4::bigint[]), "             \
	"unnest($5::text[]), unnest($6::smallint[]), unnest($7::integer[]), unnest($8::boolean[]), "                   \
	"unnest($9::text[]), unnest($10::bytea[]), unnest($11::boolean[]), unnest($12::text[]), unnest($13::text[]), " \
	"unnest($14::text[]), unnest($15::text[]), unnest($16::text[]), unnest($17::text[]), unnest($18::text[]), "    \
	"unnest($19::text[]), unnest($20::text[]), unnest($21::text[]), unnest($22::text[]), unnest($23::text[]), "    \
	"unnest($24::text[]), unnest($25::text[]), unnest($26::text[]), unnest($27::text[])"

static const char insert_sql[] = INSERT;
static const char insert_looking_out_sql[] = INSERT " ON CONFLICT (day, event_id) DO NOTHING RETURNING event_id";

static const char reload_sql[] =
	"SELECT event_id, link_id, slug, country, city, browser, os, device, language, referrer_host, utm_source, "
	"utm_medium, utm_campaign, is_bot, bot_reason, is_unique, region, browser_version, os_version, referrer_source "
	"FROM unnest($1::date[], $2::uuid[]) AS wanted (day, event_id) JOIN visit_log USING (day, event_id) "
	"ORDER BY day, event_id";

#define VALUE_BYTES_MAX 300

struct visit_log_store {
	size_t visits_max;
	struct visit **sorted; /* those counted before in the order of (day, event_id) */
	size_t sorted_count;
	struct sql_column columns[COLUMNS];
};

struct visit_log_store *visit_log_store_new(size_t visits_max)
{
	struct visit_log_store *store = mem_zero(sizeof(*store));
	store->visits_max = visits_max;
	store->sorted = mem_array(visits_max, sizeof(struct visit *));
	for (size_t i = 0; i < COLUMNS; i++)
		sql_column_init(&store->columns[i], types[i], (visits_max + 1) * VALUE_BYTES_MAX);
	return store;
}

void visit_log_store_free(struct visit_log_store *store)
{
	if (!store)
		return;
	for (size_t i = 0; i < COLUMNS; i++)
		sql_column_clear(&store->columns[i]);
	free(store->sorted);
	free(store);
}

static int compare_keys(const struct visit *left, const struct visit *right)
{
	if (left->day != right->day)
		return left->day < right->day ? -1 : 1;
	return memcmp(left->event.event_id, right->event.event_id, sizeof(left->event.event_id));
}

static int by_key(const void *a, const void *b)
{
	const struct visit *left = *(const struct visit *const *)a;
	const struct visit *right = *(const struct visit *const *)b;
	int order = compare_keys(left, right);
	/* Equal ones in the order in which they came. */
	return order != 0 ? order : (left > right) - (left < right);
}

static void sort_counted_before(struct visit_log_store *store, struct visit *visits, size_t count)
{
	store->sorted_count = 0;
	for (size_t i = 0; i < count; i++) {
		if (visits[i].fate == VISIT_COUNTED_BEFORE)
			store->sorted[store->sorted_count++] = &visits[i];
	}
	qsort(store->sorted, store->sorted_count, sizeof(struct visit *), by_key);
}

static void add_row(struct sql_column *columns, const struct visit *visit)
{
	const struct visit_event *event = &visit->event;
	sql_column_add_day(&columns[DAY], visit->day);
	sql_column_add_bytes(&columns[EVENT_ID], event->event_id, sizeof(event->event_id));
	sql_column_add_time(&columns[OCCURRED_AT], event->occurred_at_us);
	sql_column_add_int(&columns[LINK_ID], event->link_id);
	sql_column_add_text(&columns[SLUG], event->slug);
	sql_column_add_int(&columns[STATUS], visit->status);
	sql_column_add_int(&columns[LATENCY_US], visit->latency_us);
	sql_column_add_bool(&columns[IS_BOT], event->is_bot);
	sql_column_add_text(&columns[BOT_REASON], event->bot_reason);
	sql_column_add_bytes(&columns[VISITOR_HASH], visit->visitor_hash,
	                     visit->has_visitor_hash ? sizeof(visit->visitor_hash) : 0);
	sql_column_add_bool(&columns[IS_UNIQUE], event->unique);
	sql_column_add_text(&columns[CLIENT_NETWORK], visit->client_network);
	sql_column_add_text(&columns[COUNTRY], event->country);
	sql_column_add_text(&columns[CITY], event->city);
	sql_column_add_text(&columns[REFERRER_HOST], event->referrer_host);
	sql_column_add_text(&columns[BROWSER], event->browser);
	sql_column_add_text(&columns[OS], event->os);
	sql_column_add_text(&columns[DEVICE], event->device);
	sql_column_add_text(&columns[LANGUAGE], event->language);
	sql_column_add_text(&columns[UTM_SOURCE], event->utm_source);
	sql_column_add_text(&columns[UTM_MEDIUM], event->utm_medium);
	sql_column_add_text(&columns[UTM_CAMPAIGN], event->utm_campaign);
	sql_column_add_text(&columns[SERVED_FROM], visit->served_from);
	sql_column_add_text(&columns[REGION], event->region);
	sql_column_add_text(&columns[BROWSER_VERSION], event->browser_version);
	sql_column_add_text(&columns[OS_VERSION], event->os_version);
	sql_column_add_text(&columns[REFERRER_SOURCE], event->referrer_source);
}

static enum err add_params(struct visit_log_store *store, size_t columns, struct pg_params *params)
{
	enum err err = OK;
	for (size_t i = 0; err == OK && i < columns; i++)
		err = sql_column_param(&store->columns[i], params);
	return err;
}

static void reset_columns(struct visit_log_store *store)
{
	for (size_t i = 0; i < COLUMNS; i++)
		sql_column_reset(&store->columns[i]);
}

static bool row_is(const struct pg_result *rows, size_t row, const struct visit *visit)
{
	char id[ENTROPY_UUID_TEXT_SIZE];
	if (row >= pg_result_count(rows))
		return false;
	entropy_uuid_format(visit->event.event_id, id);
	return strcmp(pg_result_text(rows, row, 0), id) == 0;
}

enum err visit_log_store_insert(struct visit_log_store *store, struct pg_conn *conn, bool looks_out,
                                const struct visit_order *order)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	reset_columns(store);
	for (size_t i = 0; i < order->count; i++)
		add_row(store->columns, order->visits[i]);
	enum err err = add_params(store, COLUMNS, &params);
	if (err == OK)
		err = pg_conn_query(conn, looks_out ? insert_looking_out_sql : insert_sql, &params, &rows);
	if (err != OK || !looks_out)
		goto out;
	/* Rows come back in the order in which they went in; those between them stayed out. */
	size_t row = 0;
	for (size_t i = 0; i < order->count; i++) {
		if (row_is(rows, row, order->visits[i]))
			row++;
		else
			order->visits[i]->fate = VISIT_REPEAT;
	}
	if (row != pg_result_count(rows))
		err = ERR_INTERNAL;
out:
	pg_result_free(rows);
	return err;
}

/* Each partition's primary key has a name of its own. */
bool visit_log_store_met_repeat(const struct pg_conn *conn)
{
	static const char ending[] = "_pkey";
	const char *constraint = pg_conn_constraint(conn);
	size_t len = strlen(constraint);
	return len >= sizeof(ending) - 1 && strcmp(constraint + len - (sizeof(ending) - 1), ending) == 0;
}

static void copy_text(const struct pg_result *rows, size_t row, int column, char *out, size_t size)
{
	snprintf(out, size, "%s", pg_result_text(rows, row, column));
}

static void read_event(const struct pg_result *rows, size_t row, struct visit_event *out)
{
	out->link_id = pg_result_int(rows, row, 1);
	copy_text(rows, row, 2, out->slug, sizeof(out->slug));
	copy_text(rows, row, 3, out->country, sizeof(out->country));
	copy_text(rows, row, 4, out->city, sizeof(out->city));
	copy_text(rows, row, 5, out->browser, sizeof(out->browser));
	copy_text(rows, row, 6, out->os, sizeof(out->os));
	copy_text(rows, row, 7, out->device, sizeof(out->device));
	copy_text(rows, row, 8, out->language, sizeof(out->language));
	copy_text(rows, row, 9, out->referrer_host, sizeof(out->referrer_host));
	copy_text(rows, row, 10, out->utm_source, sizeof(out->utm_source));
	copy_text(rows, row, 11, out->utm_medium, sizeof(out->utm_medium));
	copy_text(rows, row, 12, out->utm_campaign, sizeof(out->utm_campaign));
	out->is_bot = pg_result_bool(rows, row, 13);
	copy_text(rows, row, 14, out->bot_reason, sizeof(out->bot_reason));
	out->unique = pg_result_bool(rows, row, 15);
	copy_text(rows, row, 16, out->region, sizeof(out->region));
	copy_text(rows, row, 17, out->browser_version, sizeof(out->browser_version));
	copy_text(rows, row, 18, out->os_version, sizeof(out->os_version));
	copy_text(rows, row, 19, out->referrer_source, sizeof(out->referrer_source));
}

enum err visit_log_store_reload(struct visit_log_store *store, struct pg_conn *conn, struct visit *visits, size_t count)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	sort_counted_before(store, visits, count);
	if (store->sorted_count == 0)
		return OK;
	reset_columns(store);
	for (size_t i = 0; i < store->sorted_count; i++) {
		const struct visit *visit = store->sorted[i];
		sql_column_add_day(&store->columns[DAY], visit->day);
		sql_column_add_bytes(&store->columns[EVENT_ID], visit->event.event_id, sizeof(visit->event.event_id));
	}
	enum err err = add_params(store, 2, &params);
	if (err == OK)
		err = pg_conn_query(conn, reload_sql, &params, &rows);
	size_t row = 0;
	for (size_t i = 0; err == OK && i < store->sorted_count; i++) {
		/* A record that stands twice in the topic comes back twice, too. */
		if (row_is(rows, row, store->sorted[i]))
			read_event(rows, row++, &store->sorted[i]->event);
		else
			store->sorted[i]->fate = VISIT_REPEAT;
	}
	pg_result_free(rows);
	return err;
}
