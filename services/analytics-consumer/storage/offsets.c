#include "services/analytics-consumer/storage/offsets.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/postgres/sql_column.h"

/* --- in memory --- */

static int by_partition(const void *a, const void *b)
{
	const struct offsets_partition *left = a;
	const struct offsets_partition *right = b;
	return (left->partition > right->partition) - (left->partition < right->partition);
}

void offsets_assign(struct offsets *offsets, const struct offsets_partition *partitions,
                    size_t count)
{
	offsets_clear(offsets);
	offsets->partitions = mem_array(count, sizeof(*partitions));
	offsets->count = count;
	for (size_t i = 0; i < count; i++) {
		const struct offsets_partition *p = &partitions[i];
		offsets->partitions[i] =
			(struct offsets_partition){ .partition = p->partition,
			                            .stored = p->stored,
			                            .fingerprint = p->fingerprint,
			                            .published = p->published,
			                            .is_dated = p->is_dated,
			                            .is_unverified = p->fingerprint != 0,
			                            .halt_reason = p->halt_reason,
			                            .is_halt_recorded = true };
	}
	qsort(offsets->partitions, count, sizeof(*partitions), by_partition);
	offsets_begin_batch(offsets);
}

void offsets_clear(struct offsets *offsets)
{
	free(offsets->partitions);
	*offsets = (struct offsets){ 0 };
}

struct offsets_partition *offsets_find(struct offsets *offsets, int32_t partition)
{
	if (offsets->count == 0)
		return NULL;
	if (offsets->partitions[offsets->last_found].partition == partition)
		return &offsets->partitions[offsets->last_found];
	struct offsets_partition key = { .partition = partition };
	struct offsets_partition *found =
		bsearch(&key, offsets->partitions, offsets->count, sizeof(key), by_partition);
	if (found)
		offsets->last_found = (size_t)(found - offsets->partitions);
	return found;
}

void offsets_extend_unverified(struct offsets_partition *partition, int64_t offset, int64_t from,
                               int64_t to)
{
	int64_t next = offsets_position(offset, to);
	if (partition->first < 0)
		partition->first = offsets_position(offset, from);
	if (next > partition->next_stored) {
		partition->next_stored = next;
		partition->next_fingerprint = 0;
		partition->has_last = false;
	}
	if (next > partition->next_published)
		partition->next_published = next;
}

void offsets_extend(struct offsets_partition *partition, const struct kafka_message *message,
                    int64_t from, int64_t to)
{
	bool is_last = offsets_position(message->offset, to) > partition->next_stored;
	offsets_extend_unverified(partition, message->offset, from, to);
	if (!is_last)
		return;
	partition->has_last = true;
	kafka_message_copy_head(message, &partition->last);
}

int64_t offsets_start_of_unpublished(const struct offsets_partition *partition)
{
	return partition->stored == 0 ? partition->first : partition->published;
}

int64_t offsets_acknowledged(const struct offsets_partition *partition)
{
	return offsets_start_of_unpublished(partition) - partition->unacked;
}

bool offsets_is_counted(const struct offsets_partition *partition, int64_t position)
{
	return position < partition->stored;
}

bool offsets_is_done(const struct offsets_partition *partition, int64_t position)
{
	return position < partition->published;
}

bool offsets_has_advanced(const struct offsets_partition *partition)
{
	return partition->next_stored != partition->stored;
}

bool offsets_any_advanced(const struct offsets *offsets)
{
	for (size_t i = 0; i < offsets->count; i++) {
		if (offsets_has_advanced(&offsets->partitions[i]))
			return true;
	}
	return false;
}

static void end_batch(struct offsets *offsets)
{
	for (size_t i = 0; i < offsets->count; i++) {
		struct offsets_partition *p = &offsets->partitions[i];
		if (p->has_last)
			p->next_fingerprint = kafka_message_fingerprint(&p->last);
		p->has_last = false;
	}
}

void offsets_mark_stored(struct offsets *offsets)
{
	end_batch(offsets);
	for (size_t i = 0; i < offsets->count; i++) {
		offsets->partitions[i].stored = offsets->partitions[i].next_stored;
		offsets->partitions[i].fingerprint = offsets->partitions[i].next_fingerprint;
	}
}

void offsets_mark_published(struct offsets *offsets)
{
	for (size_t i = 0; i < offsets->count; i++)
		offsets->partitions[i].published = offsets->partitions[i].next_published;
}

bool offsets_is_published(const struct offsets_partition *partition)
{
	return partition->published >= partition->stored;
}

void offsets_begin_batch(struct offsets *offsets)
{
	for (size_t i = 0; i < offsets->count; i++) {
		struct offsets_partition *p = &offsets->partitions[i];
		p->first = -1;
		p->next_stored = p->stored;
		p->next_fingerprint = p->fingerprint;
		p->next_published = p->published;
		p->as_of_us = 0;
		p->has_last = false;
	}
}

void offsets_copy(const struct offsets *offsets, struct offsets *out)
{
	size_t count = offsets->count;
	struct offsets_partition *partitions = mem_array(count, sizeof(*partitions));
	if (count > 0)
		memcpy(partitions, offsets->partitions, count * sizeof(*partitions));
	offsets_clear(out);
	*out = (struct offsets){ .count = count, .partitions = partitions };
}

void offsets_set_unacked(struct offsets *batch, const struct offsets *unacked)
{
	for (size_t i = 0; i < unacked->count; i++) {
		const struct offsets_partition *from = &unacked->partitions[i];
		struct offsets_partition *p = offsets_find(batch, from->partition);
		if (!p || from->first < 0)
			continue;
		int64_t count =
			offsets_start_of_unpublished(p) - offsets_start_of_unpublished(from);
		p->unacked = count > 0 ? count : 0;
	}
}

void offsets_hand_over(struct offsets *offsets, struct offsets *batch)
{
	end_batch(offsets);
	offsets_copy(offsets, batch);
	offsets_mark_stored(offsets);
	offsets_mark_published(offsets);
	offsets_begin_batch(offsets);
}

size_t offsets_halted_count(const struct offsets *offsets)
{
	size_t count = 0;
	for (size_t i = 0; i < offsets->count; i++)
		count += offsets->partitions[i].halt_reason != OFFSETS_NOT_HALTED;
	return count;
}

const char *offsets_halt_reason_name(enum offsets_halt_reason reason)
{
	switch (reason) {
	case OFFSETS_HALTED_EARLIER:
		return "halted_earlier";
	case OFFSETS_TOPIC_ENDS_BEFORE:
		return "topic_ends_before";
	case OFFSETS_REMOVED_BY_RETENTION:
		return "removed_by_retention";
	case OFFSETS_ANOTHER_RECORD:
		return "another_record";
	case OFFSETS_NOT_HALTED:
		break;
	}
	return "";
}

/* --- in the store --- */

#define COLUMN_BYTES_MAX ((size_t)1024 + OFFSETS_PARTITIONS_MAX * 16)

enum err offsets_read(struct pg_conn *conn, const char *topic, const int32_t *partitions,
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
			/* A fingerprint is valid only for the record of the event before next_offset. */
			"CASE WHEN o.record_offset = o.next_offset - (o.next_index = 0)::integer THEN o.record_fingerprint ELSE 0 END, "
			"(o.halted_at IS NOT NULL)::integer, (o.as_of IS NOT NULL)::integer, "
			"coalesce(o.next_index, 0), coalesce(CASE WHEN o.published_offset IS NULL THEN o.next_index ELSE o.published_index END, 0) "
			"FROM unnest($2::integer[]) WITH ORDINALITY AS wanted (partition, position) "
			"LEFT JOIN consumer_offsets o ON o.topic = $1 AND o.partition = wanted.partition "
			"ORDER BY position",
			&params, &rows);
	if (err == OK && pg_result_count(rows) != count)
		err = ERR_INTERNAL;
	for (size_t i = 0; err == OK && i < count; i++) {
		out[i] = (struct offsets_partition){
			.partition = partitions[i],
			.stored = offsets_position(pg_result_int(rows, i, 0),
			                           pg_result_int(rows, i, 5)),
			.published = offsets_position(pg_result_int(rows, i, 1),
			                              pg_result_int(rows, i, 6)),
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
enum {
	PARTITION,
	FROM_OFFSET,
	FROM_INDEX,
	TO_OFFSET,
	TO_INDEX,
	PUBLISHED_OFFSET,
	PUBLISHED_INDEX,
	AS_OF,
	FINGERPRINT,
	COLUMNS
};

/* Parameters of an update, one element per partition in each column. */
struct steps {
	struct sql_column columns[COLUMNS];
};

static bool is_small(size_t column)
{
	return column == PARTITION || column == FROM_INDEX || column == TO_INDEX ||
	       column == PUBLISHED_INDEX;
}

static void steps_init(struct steps *steps)
{
	for (size_t i = 0; i < COLUMNS; i++)
		sql_column_init(&steps->columns[i],
		                is_small(i)  ? SQL_COLUMN_INT4
		                : i == AS_OF ? SQL_COLUMN_TIME
		                             : SQL_COLUMN_INT8,
		                COLUMN_BYTES_MAX);
}

static void steps_clear(struct steps *steps)
{
	for (size_t i = 0; i < COLUMNS; i++)
		sql_column_clear(&steps->columns[i]);
}

/* To the column of offsets and the column of indexes after it. */
static void add_position(struct steps *steps, size_t column, int64_t position)
{
	sql_column_add_int(&steps->columns[column], offsets_next_record(position));
	sql_column_add_int(&steps->columns[column + 1], offsets_index(position));
}

static void steps_add(struct steps *steps, const struct offsets_partition *p, int64_t published,
                      int64_t as_of_us)
{
	sql_column_add_int(&steps->columns[PARTITION], p->partition);
	add_position(steps, FROM_OFFSET, p->stored);
	add_position(steps, TO_OFFSET, p->next_stored);
	add_position(steps, PUBLISHED_OFFSET, published);
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
	"unnest($4::integer[]) AS from_index, unnest($5::bigint[]) AS to_offset, "                 \
	"unnest($6::integer[]) AS to_index, unnest($7::bigint[]) AS published_offset, "            \
	"unnest($8::integer[]) AS published_index, "                                               \
	"nullif(unnest($9::timestamptz[]), 'epoch') AS as_of, nullif(unnest($10::bigint[]), 0) AS fingerprint"
#define IS_AT_START "o.next_offset = step.from_offset AND o.next_index = step.from_index"

/* Locks the rows that are where the batch expects them, in a fixed order, before it changes any. */
static const char advance_sql[] =
	"WITH step AS MATERIALIZED (" STEPS "), "
	"locked AS MATERIALIZED (SELECT o.partition FROM consumer_offsets o JOIN step USING (partition) "
	"WHERE o.topic = $1 AND " IS_AT_START " AND o.halted_at IS NULL "
	"ORDER BY o.partition FOR UPDATE OF o) "
	"UPDATE consumer_offsets o SET next_offset = step.to_offset, next_index = step.to_index, "
	"published_offset = step.published_offset, published_index = step.published_index, "
	"as_of = greatest(o.as_of, step.as_of), "
	"record_offset = step.to_offset - (step.to_index = 0)::integer, record_fingerprint = step.fingerprint, "
	"updated_at = clock_timestamp() "
	"FROM step JOIN locked USING (partition) WHERE o.topic = $1 AND o.partition = step.partition";

enum err offsets_advance(struct pg_conn *conn, const char *topic, const struct offsets *offsets)
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

enum err offsets_halt(struct pg_conn *conn, const char *topic,
                      const struct offsets_partition *partition)
{
	struct pg_params params = { 0 };
	pg_params_text(&params, topic);
	pg_params_int(&params, partition->partition);
	pg_params_int(&params, offsets_next_record(partition->stored));
	pg_params_int(&params, offsets_index(partition->stored));
	pg_params_text(&params, offsets_halt_reason_name(partition->halt_reason));
	return pg_conn_query(
		conn,
		"UPDATE consumer_offsets SET halted_at = clock_timestamp(), halt_reason = $5 "
		"WHERE topic = $1 AND partition = $2 AND next_offset = $3 AND next_index = $4 "
		"AND halted_at IS NULL",
		&params, NULL);
}

static enum offsets_outcome compare(const struct offsets *offsets,
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
		return OFFSETS_NOT_STORED;
	return at_end ? OFFSETS_STORED : OFFSETS_FENCED;
}

enum err offsets_find_outcome(struct pg_conn *conn, const char *topic,
                              const struct offsets *offsets, enum offsets_outcome *out)
{
	size_t count = offsets->count;
	int32_t *partitions = mem_array(count, sizeof(*partitions));
	struct offsets_partition *rows = mem_array(count, sizeof(*rows));
	for (size_t i = 0; i < count; i++)
		partitions[i] = offsets->partitions[i].partition;
	enum err err = offsets_read(conn, topic, partitions, count, rows);
	if (err == OK)
		*out = compare(offsets, rows, count);
	free(partitions);
	free(rows);
	return err;
}

static const char mark_sql[] =
	"UPDATE consumer_offsets o SET published_offset = step.published_offset, "
	"published_index = step.published_index, as_of = greatest(o.as_of, step.as_of) "
	"FROM (" STEPS
	") step WHERE o.topic = $1 AND o.partition = step.partition AND " IS_AT_START;

enum err offsets_store_published(struct pg_conn *conn, const char *topic,
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
