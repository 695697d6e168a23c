#include "services/analytics-consumer/storage/link_owners.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/postgres/sql_column.h"

/* The separator is VISIT_EVENT_TAG_SEPARATOR. */
#define FIND_SQL                                                                                   \
	"SELECT id, owner_id, array_to_string(tags, E'\\x1f') FROM links "                         \
	"WHERE id = ANY ($1::bigint[])"
/* Of one id in an array parameter. */
#define ID_BYTES 16

#define FREE_SLOT 0

struct slot {
	int64_t link_id; /* or FREE_SLOT */
	int64_t owner_id;
	const char *tags; /* borrowed from rows */
};

struct link_owners {
	struct slot
		*table; /* an open-addressing hash table of the batch's links, at most half full */
	size_t slots;   /* a power of two */
	struct sql_column ids;
	struct pg_result *rows; /* holds the tags of the visits */
};

struct link_owners *link_owners_new(size_t visits_max)
{
	struct link_owners *owners = mem_zero(sizeof(*owners));
	owners->slots = 16;
	while (owners->slots < 2 * visits_max)
		owners->slots *= 2;
	owners->table = mem_array(owners->slots, sizeof(*owners->table));
	sql_column_init(&owners->ids, SQL_COLUMN_INT8, (visits_max + 2) * ID_BYTES);
	return owners;
}

void link_owners_free(struct link_owners *owners)
{
	if (!owners)
		return;
	pg_result_free(owners->rows);
	sql_column_clear(&owners->ids);
	free(owners->table);
	free(owners);
}

/* The slot of the link, or the free slot where it belongs. */
static struct slot *find(const struct link_owners *owners, int64_t link_id)
{
	uint64_t hash = (uint64_t)link_id * UINT64_C(0x9e3779b97f4a7c15);
	size_t at = (hash >> 32) & (owners->slots - 1);
	while (owners->table[at].link_id != FREE_SLOT && owners->table[at].link_id != link_id)
		at = (at + 1) & (owners->slots - 1);
	return &owners->table[at];
}

static void gather_ids(struct link_owners *owners, const struct visit *visits, size_t count)
{
	memset(owners->table, 0, owners->slots * sizeof(*owners->table));
	sql_column_reset(&owners->ids);
	for (size_t i = 0; i < count; i++) {
		struct slot *slot = find(owners, visits[i].event.link_id);
		if (slot->link_id != FREE_SLOT)
			continue;
		slot->link_id = visits[i].event.link_id;
		sql_column_add_int(&owners->ids, slot->link_id);
	}
}

/* A link without a row is purged. */
static void set_owners(struct link_owners *owners, struct visit *visits, size_t count)
{
	for (size_t row = 0; row < pg_result_count(owners->rows); row++) {
		struct slot *slot = find(owners, pg_result_int(owners->rows, row, 0));
		slot->owner_id = pg_result_int(owners->rows, row, 1);
		slot->tags = pg_result_text(owners->rows, row, 2);
	}
	for (size_t i = 0; i < count; i++) {
		const struct slot *slot = find(owners, visits[i].event.link_id);
		visits[i].event.owner_id = slot->owner_id;
		visits[i].event.tags = slot->tags;
	}
}

enum err link_owners_find(struct link_owners *owners, struct pg_conn *conn, struct visit *visits,
                          size_t count)
{
	struct pg_params params = { 0 };
	pg_result_free(owners->rows);
	owners->rows = NULL;
	gather_ids(owners, visits, count);
	if (count == 0)
		return OK;
	enum err err = sql_column_param(&owners->ids, &params);
	if (err == OK)
		err = pg_conn_query(conn, FIND_SQL, &params, &owners->rows);
	if (err == OK)
		set_owners(owners, visits, count);
	return err;
}
