#include "services/analytics-consumer/storage/link_owners.h"

#include <stdlib.h>

#include "lib/base/hash_table.h"
#include "lib/base/mem.h"
#include "lib/postgres/sql_column.h"

/* The separator is VISIT_EVENT_TAG_SEPARATOR. */
#define FIND_SQL                                                                                   \
	"SELECT id, owner_id, array_to_string(tags, E'\\x1f') FROM links "                         \
	"WHERE id = ANY ($1::bigint[])"
/* Of one id in an array parameter. */
#define ID_BYTES 16

struct link {
	int64_t id;
	int64_t owner_id;
	/* Borrowed from rows. */
	const char *tags;
	UT_hash_handle hh;
};

struct link_owners {
	/* Those of the batch: an array, and a table of its elements. */
	struct link *links;
	struct link *by_id;
	struct sql_column ids;
	/* Holds the tags of the visits. */
	struct pg_result *rows;
};

struct link_owners *link_owners_new(size_t visits_max)
{
	struct link_owners *owners = mem_zero(sizeof(*owners));
	owners->links = mem_array(visits_max, sizeof(*owners->links));
	sql_column_init(&owners->ids, SQL_COLUMN_INT8, (visits_max + 2) * ID_BYTES);
	return owners;
}

void link_owners_free(struct link_owners *owners)
{
	if (!owners)
		return;
	pg_result_free(owners->rows);
	sql_column_clear(&owners->ids);
	HASH_CLEAR(hh, owners->by_id);
	free(owners->links);
	free(owners);
}

static struct link *find(const struct link_owners *owners, int64_t id)
{
	struct link *link;
	HASH_FIND(hh, owners->by_id, &id, sizeof(id), link);
	return link;
}

static void gather_ids(struct link_owners *owners, const struct visit *visits, size_t count)
{
	HASH_CLEAR(hh, owners->by_id);
	sql_column_reset(&owners->ids);
	for (size_t i = 0; i < count; i++) {
		if (find(owners, visits[i].event.link_id))
			continue;
		struct link *link = &owners->links[HASH_COUNT(owners->by_id)];
		*link = (struct link){ .id = visits[i].event.link_id };
		HASH_ADD(hh, owners->by_id, id, sizeof(link->id), link);
		sql_column_add_int(&owners->ids, link->id);
	}
}

/* A link without a row is purged. */
static void set_owners(struct link_owners *owners, struct visit *visits, size_t count)
{
	for (size_t row = 0; row < pg_result_count(owners->rows); row++) {
		struct link *link = find(owners, pg_result_int(owners->rows, row, 0));
		link->owner_id = pg_result_int(owners->rows, row, 1);
		link->tags = pg_result_text(owners->rows, row, 2);
	}
	for (size_t i = 0; i < count; i++) {
		const struct link *link = find(owners, visits[i].event.link_id);
		visits[i].event.owner_id = link->owner_id;
		visits[i].event.tags = link->tags;
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
