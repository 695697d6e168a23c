#include "services/analytics-consumer/storage/offset_store.h"

#include "lib/base/mem.h"
#include "lib/postgres/sql_column.h"

#define COLUMN_BYTES_MAX ((size_t)1024 + OFFSETS_PARTITIONS_MAX * 16)

enum err offset_store_read(struct pg_conn *conn, const char *topic, const int32_t *partitions,
                           size_t count, struct offsets_partition *out)
{
	struct sql_column wanted;
	sql_column_init(&wanted, SQL_COLUMN_INT4, COLUMN_BYTES_MAX);
	for (size_t i = 0; i < count; i++)
		sql_column_add_int(&wanted, partitions[i]);
	struct pg_params params = { 0 };
	pg_params_text(&params, topic);
	struct pg_result *rows = NULL;
	enum err err = sql_column_param(&wanted, &params);
	if (err == OK)
		err = pg_conn_query(
			conn,
			"WITH created AS (INSERT INTO consumer_offsets (topic, partition, next_offset) "
			"SELECT $1, wanted, 0 FROM unnest($2::integer[]) wanted ORDER BY wanted "
			"ON CONFLICT DO NOTHING) "
			"SELECT coalesce(o.next_offset, 0), coalesce(o.published_offset, o.next_offset, 0), "
			/* A fingerprint is valid only for the record just before next_offset. */
			"CASE WHEN o.record_offset = o.next_offset - 1 THEN o.record_fingerprint ELSE 0 END, "
			"(o.halted_at IS NOT NULL)::integer, (o.as_of IS NOT NULL)::integer "
			"FROM unnest($2::integer[]) WITH ORDINALITY AS wanted (partition, position) "
			"LEFT JOIN consumer_offsets o ON o.topic = $1 AND o.partition = wanted.partition "
			"ORDER BY position",
			&params, &rows);
	if (err == OK && pg_result_count(rows) != count)
		err = ERR_INTERNAL;
	for (size_t i = 0; err == OK && i < count; i++) {
		out[i] = (struct offsets_partition){
			.partition = partitions[i],
			.stored = pg_result_int(rows, i, 0),
			.published = pg_result_int(rows, i, 1),
			.fingerprint = pg_result_int(rows, i, 2),
			.halt_reason = pg_result_int(rows, i, 3) ? OFFSETS_HALTED_EARLIER
			                                         : OFFSETS_NOT_HALTED,
			.is_dated = pg_result_int(rows, i, 4) != 0,
		};
	}
	pg_result_free(rows);
	sql_column_clear(&wanted);
	return err;
}

/* The columns of STEPS, from its second parameter on. */
enum { PARTITION, FROM, TO, PUBLISHED, AS_OF, FINGERPRINT, COLUMNS };

/* Parameters of an update, one element per partition in each column. */
struct steps {
	struct sql_column columns[COLUMNS];
};

static void steps_init(struct steps *steps)
{
	for (size_t i = 0; i < COLUMNS; i++)
		sql_column_init(&steps->columns[i],
		                i == PARTITION ? SQL_COLUMN_INT4
		                : i == AS_OF   ? SQL_COLUMN_TIME
		                               : SQL_COLUMN_INT8,
		                COLUMN_BYTES_MAX);
}

static void steps_clear(struct steps *steps)
{
	for (size_t i = 0; i < COLUMNS; i++)
		sql_column_clear(&steps->columns[i]);
}

static void steps_add(struct steps *steps, const struct offsets_partition *p, int64_t published,
                      int64_t as_of_us)
{
	sql_column_add_int(&steps->columns[PARTITION], p->partition);
	sql_column_add_int(&steps->columns[FROM], p->stored);
	sql_column_add_int(&steps->columns[TO], p->next_stored);
	sql_column_add_int(&steps->columns[PUBLISHED], published);
	sql_column_add_time(&steps->columns[AS_OF], as_of_us);
	sql_column_add_int(&steps->columns[FINGERPRINT], p->next_fingerprint);
}

/* Runs sql with the topic and the columns. ERR_CONFLICT unless it changed one row per step. */
static enum err steps_run(struct steps *steps, struct pg_conn *conn, const char *topic,
                          const char *sql)
{
	if (steps->columns[PARTITION].count == 0)
		return OK;
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	enum err err = OK;
	pg_params_text(&params, topic);
	for (size_t i = 0; err == OK && i < COLUMNS; i++)
		err = sql_column_param(&steps->columns[i], &params);
	if (err == OK)
		err = pg_conn_query(conn, sql, &params, &rows);
	if (err == OK && pg_result_changed(rows) != steps->columns[PARTITION].count)
		err = ERR_CONFLICT;
	pg_result_free(rows);
	return err;
}

#define STEPS                                                                                      \
	"SELECT unnest($2::integer[]) AS partition, unnest($3::bigint[]) AS from_offset, "         \
	"unnest($4::bigint[]) AS to_offset, unnest($5::bigint[]) AS published, "                   \
	"nullif(unnest($6::timestamptz[]), 'epoch') AS as_of, nullif(unnest($7::bigint[]), 0) AS fingerprint"

/* Locks the rows that are where the batch expects them, in a fixed order, before it changes any. */
static const char advance_sql[] =
	"WITH step AS MATERIALIZED (" STEPS "), "
	"locked AS MATERIALIZED (SELECT o.partition FROM consumer_offsets o JOIN step USING (partition) "
	"WHERE o.topic = $1 AND o.next_offset = step.from_offset AND o.halted_at IS NULL "
	"ORDER BY o.partition FOR UPDATE OF o) "
	"UPDATE consumer_offsets o SET next_offset = step.to_offset, published_offset = step.published, "
	"as_of = greatest(o.as_of, step.as_of), record_offset = step.to_offset - 1, record_fingerprint = step.fingerprint, "
	"updated_at = clock_timestamp() "
	"FROM step JOIN locked USING (partition) WHERE o.topic = $1 AND o.partition = step.partition";

enum err offset_store_advance(struct pg_conn *conn, const char *topic,
                              const struct offsets *offsets)
{
	struct steps steps;
	steps_init(&steps);
	for (size_t i = 0; i < offsets->count; i++) {
		const struct offsets_partition *p = &offsets->partitions[i];
		if (!offsets_has_advanced(p))
			continue;
		steps_add(&steps, p, offsets_acknowledged(p), p->as_of_us);
	}
	enum err err = steps_run(&steps, conn, topic, advance_sql);
	steps_clear(&steps);
	return err;
}

enum err offset_store_halt(struct pg_conn *conn, const char *topic,
                           const struct offsets_partition *partition)
{
	struct pg_params params = { 0 };
	pg_params_text(&params, topic);
	pg_params_int(&params, partition->partition);
	pg_params_int(&params, partition->stored);
	pg_params_text(&params, offsets_halt_reason_name(partition->halt_reason));
	return pg_conn_query(
		conn,
		"UPDATE consumer_offsets SET halted_at = clock_timestamp(), halt_reason = $4 "
		"WHERE topic = $1 AND partition = $2 AND next_offset = $3 AND halted_at IS NULL",
		&params, NULL);
}

static enum offset_store_outcome compare(const struct offsets *offsets,
                                         const struct offsets_partition *rows, size_t count)
{
	bool at_start = true;
	bool at_end = true;
	for (size_t i = 0; i < count; i++) {
		const struct offsets_partition *ours = &offsets->partitions[i];
		if (!offsets_has_advanced(ours))
			continue;
		at_start = at_start && rows[i].stored == ours->stored;
		at_end = at_end && rows[i].stored == ours->next_stored;
	}
	if (at_start)
		return OFFSET_STORE_NOT_STORED;
	return at_end ? OFFSET_STORE_STORED : OFFSET_STORE_FENCED;
}

enum err offset_store_find_outcome(struct pg_conn *conn, const char *topic,
                                   const struct offsets *offsets, enum offset_store_outcome *out)
{
	size_t count = offsets->count;
	int32_t *partitions = mem_array(count, sizeof(*partitions));
	struct offsets_partition *rows = mem_array(count, sizeof(*rows));
	for (size_t i = 0; i < count; i++)
		partitions[i] = offsets->partitions[i].partition;
	enum err err = offset_store_read(conn, topic, partitions, count, rows);
	if (err == OK)
		*out = compare(offsets, rows, count);
	free(partitions);
	free(rows);
	return err;
}

static const char mark_sql[] =
	"UPDATE consumer_offsets o SET published_offset = step.published, as_of = greatest(o.as_of, step.as_of) "
	"FROM (" STEPS ") step "
	"WHERE o.topic = $1 AND o.partition = step.partition AND o.next_offset = step.from_offset";

enum err offset_store_mark_published(struct pg_conn *conn, const char *topic,
                                     const struct offsets *offsets, int64_t as_of_us)
{
	struct steps steps;
	steps_init(&steps);
	for (size_t i = 0; i < offsets->count; i++) {
		const struct offsets_partition *p = &offsets->partitions[i];
		if (offsets_is_published(p) && p->halt_reason == OFFSETS_NOT_HALTED)
			steps_add(&steps, p, p->stored, p->caught_up ? as_of_us : 0);
	}
	enum err err = steps_run(&steps, conn, topic, mark_sql);
	steps_clear(&steps);
	/* Rows of another owner stay as they are. */
	return err == ERR_CONFLICT ? OK : err;
}
