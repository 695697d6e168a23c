#include "services/analytics-consumer/offset_store.h"

#include "lib/base/mem.h"
#include "lib/net/sql_column.h"

#define COLUMN_BYTES_MAX ((size_t)1024 + PROGRESS_PARTITIONS_MAX * 16)

enum err offset_store_read(struct pg_conn *conn, const char *topic, const int32_t *partitions, size_t count,
                           struct progress_partition *out)
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
			"WITH made AS (INSERT INTO consumer_offsets (topic, partition, next_offset) "
			"SELECT $1, wanted, 0 FROM unnest($2::integer[]) wanted ORDER BY wanted "
			"ON CONFLICT DO NOTHING) "
			"SELECT coalesce(o.next_offset, 0), coalesce(o.published_offset, o.next_offset, 0), "
			/* Whoever moved it without a print moved it away from there. */
			"CASE WHEN o.record_offset = o.next_offset - 1 THEN o.record_print ELSE 0 END, "
			"(o.stranded_at IS NOT NULL)::integer "
			"FROM unnest($2::integer[]) WITH ORDINALITY AS wanted (partition, place) "
			"LEFT JOIN consumer_offsets o ON o.topic = $1 AND o.partition = wanted.partition "
			"ORDER BY place",
			&params, &rows);
	if (err == OK && pg_result_count(rows) != count)
		err = ERR_INTERNAL;
	for (size_t i = 0; err == OK && i < count; i++) {
		out[i] = (struct progress_partition){
			.partition = partitions[i],
			.stored = pg_result_int(rows, i, 0),
			.published = pg_result_int(rows, i, 1),
			.record = pg_result_int(rows, i, 2),
			.strand = pg_result_int(rows, i, 3) ? PROGRESS_STRANDED_BEFORE : PROGRESS_NOT_STRANDED,
		};
	}
	pg_result_free(rows);
	sql_column_clear(&wanted);
	return err;
}

/*
 * One row of parameters per partition: which, where it stands, where it goes, what is published, up to when it counts, the
 * print of the record before where it goes.
 */
struct steps {
	struct sql_column partition;
	struct sql_column from;
	struct sql_column to;
	struct sql_column published;
	struct sql_column as_of;
	struct sql_column record;
};

static void steps_init(struct steps *steps)
{
	sql_column_init(&steps->partition, SQL_COLUMN_INT4, COLUMN_BYTES_MAX);
	sql_column_init(&steps->from, SQL_COLUMN_INT8, COLUMN_BYTES_MAX);
	sql_column_init(&steps->to, SQL_COLUMN_INT8, COLUMN_BYTES_MAX);
	sql_column_init(&steps->published, SQL_COLUMN_INT8, COLUMN_BYTES_MAX);
	sql_column_init(&steps->as_of, SQL_COLUMN_TIME, COLUMN_BYTES_MAX);
	sql_column_init(&steps->record, SQL_COLUMN_INT8, COLUMN_BYTES_MAX);
}

static void steps_clear(struct steps *steps)
{
	sql_column_clear(&steps->partition);
	sql_column_clear(&steps->from);
	sql_column_clear(&steps->to);
	sql_column_clear(&steps->published);
	sql_column_clear(&steps->as_of);
	sql_column_clear(&steps->record);
}

static void steps_add(struct steps *steps, const struct progress_partition *p, int64_t published, int64_t as_of_us)
{
	sql_column_add_int(&steps->partition, p->partition);
	sql_column_add_int(&steps->from, p->stored);
	sql_column_add_int(&steps->to, p->next);
	sql_column_add_int(&steps->published, published);
	sql_column_add_time(&steps->as_of, as_of_us);
	sql_column_add_int(&steps->record, p->next_record);
}

/* Runs sql with the topic and the columns; ERR_CONFLICT unless it changed a row for each step. */
static enum err steps_run(struct steps *steps, struct pg_conn *conn, const char *topic, const char *sql)
{
	if (steps->partition.count == 0)
		return OK;
	struct pg_params params = { 0 };
	pg_params_text(&params, topic);
	if (sql_column_param(&steps->partition, &params) != OK || sql_column_param(&steps->from, &params) != OK ||
	    sql_column_param(&steps->to, &params) != OK || sql_column_param(&steps->published, &params) != OK ||
	    sql_column_param(&steps->as_of, &params) != OK || sql_column_param(&steps->record, &params) != OK)
		return ERR_LIMIT;
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, sql, &params, &rows);
	if (err == OK && pg_result_changed(rows) != steps->partition.count)
		err = ERR_CONFLICT;
	pg_result_free(rows);
	return err;
}

#define STEPS                                                                                                          \
	"SELECT unnest($2::integer[]) AS partition, unnest($3::bigint[]) AS from_offset, "                             \
	"unnest($4::bigint[]) AS to_offset, unnest($5::bigint[]) AS published, "                                       \
	"nullif(unnest($6::timestamptz[]), 'epoch') AS as_of, nullif(unnest($7::bigint[]), 0) AS record"

/* The rows that stand where the batch expects them are locked, in one order, before any is changed. */
static const char move_sql[] =
	"WITH step AS MATERIALIZED (" STEPS "), "
	"held AS MATERIALIZED (SELECT o.partition FROM consumer_offsets o JOIN step USING (partition) "
	"WHERE o.topic = $1 AND o.next_offset = step.from_offset AND o.stranded_at IS NULL "
	"ORDER BY o.partition FOR UPDATE OF o) "
	"UPDATE consumer_offsets o SET next_offset = step.to_offset, published_offset = step.published, "
	"as_of = greatest(o.as_of, step.as_of), record_offset = step.to_offset - 1, record_print = step.record, "
	"updated_at = clock_timestamp() "
	"FROM step JOIN held USING (partition) WHERE o.topic = $1 AND o.partition = step.partition";

enum err offset_store_advance(struct pg_conn *conn, const char *topic, const struct progress *progress)
{
	struct steps moved;
	steps_init(&moved);
	for (size_t i = 0; i < progress->count; i++) {
		const struct progress_partition *p = &progress->partitions[i];
		if (!progress_moves(p))
			continue;
		/* Before the first record that there was nothing has to be published. */
		steps_add(&moved, p, p->stored == 0 ? p->first : p->published, p->as_of_us);
	}
	enum err err = steps_run(&moved, conn, topic, move_sql);
	steps_clear(&moved);
	return err;
}

enum err offset_store_strand(struct pg_conn *conn, const char *topic, const struct progress_partition *partition)
{
	struct pg_params params = { 0 };
	pg_params_text(&params, topic);
	pg_params_int(&params, partition->partition);
	pg_params_int(&params, partition->stored);
	pg_params_text(&params, progress_strand_name(partition->strand));
	return pg_conn_query(conn,
	                     "UPDATE consumer_offsets SET stranded_at = clock_timestamp(), stranded_why = $4 "
	                     "WHERE topic = $1 AND partition = $2 AND next_offset = $3 AND stranded_at IS NULL",
	                     &params, NULL);
}

static enum offset_store_outcome compare(const struct progress *progress, const struct progress_partition *rows,
                                         size_t count)
{
	bool at_start = true;
	bool at_end = true;
	for (size_t i = 0; i < count; i++) {
		const struct progress_partition *ours = &progress->partitions[i];
		if (!progress_moves(ours))
			continue;
		at_start = at_start && rows[i].stored == ours->stored;
		at_end = at_end && rows[i].stored == ours->next;
	}
	if (at_start)
		return OFFSET_STORE_NOT_STORED;
	return at_end ? OFFSET_STORE_STORED : OFFSET_STORE_FENCED;
}

enum err offset_store_find_outcome(struct pg_conn *conn, const char *topic, const struct progress *progress,
                                   enum offset_store_outcome *out)
{
	size_t count = progress->count;
	int32_t *partitions = mem_array(count, sizeof(*partitions));
	struct progress_partition *rows = mem_array(count, sizeof(*rows));
	for (size_t i = 0; i < count; i++)
		partitions[i] = progress->partitions[i].partition;
	enum err err = offset_store_read(conn, topic, partitions, count, rows);
	if (err == OK)
		*out = compare(progress, rows, count);
	free(partitions);
	free(rows);
	return err;
}

static const char mark_sql[] =
	"UPDATE consumer_offsets o SET published_offset = step.published, as_of = greatest(o.as_of, step.as_of) "
	"FROM (" STEPS ") step "
	"WHERE o.topic = $1 AND o.partition = step.partition AND o.next_offset = step.from_offset";

enum err offset_store_mark_published(struct pg_conn *conn, const char *topic, const struct progress *progress,
                                     int64_t as_of_us)
{
	struct steps steps;
	steps_init(&steps);
	for (size_t i = 0; i < progress->count; i++) {
		const struct progress_partition *p = &progress->partitions[i];
		if (progress_is_published(p) && p->strand == PROGRESS_NOT_STRANDED)
			steps_add(&steps, p, p->stored, p->caught_up ? as_of_us : 0);
	}
	enum err err = steps_run(&steps, conn, topic, mark_sql);
	steps_clear(&steps);
	/* Somebody else's rows are theirs to mark. */
	return err == ERR_CONFLICT ? OK : err;
}
