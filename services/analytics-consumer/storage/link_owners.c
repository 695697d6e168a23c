#include "services/analytics-consumer/storage/link_owners.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/postgres/sql_column.h"

/* The separator is VISIT_EVENT_TAG_SEPARATOR. */
#define FIND_SQL                                                                                   \
	"SELECT id, owner_id, array_to_string(tags, E'\\x1f') FROM links "                         \
	"WHERE id = ANY ($1::bigint[]) ORDER BY id"
/* Of one id in an array parameter. */
#define ID_BYTES 16

struct link_owners {
	struct visit **sorted;
	struct sql_column ids;
	struct pg_result *rows; /* holds the tags of the visits */
};

struct link_owners *link_owners_new(size_t visits_max)
{
	struct link_owners *owners = mem_zero(sizeof(*owners));
	owners->sorted = mem_array(visits_max, sizeof(struct visit *));
	sql_column_init(&owners->ids, SQL_COLUMN_INT8, (visits_max + 2) * ID_BYTES);
	return owners;
}

void link_owners_free(struct link_owners *owners)
{
	if (!owners)
		return;
	pg_result_free(owners->rows);
	sql_column_clear(&owners->ids);
	free(owners->sorted);
	free(owners);
}

static int by_link(const void *a, const void *b)
{
	const struct visit *left = *(const struct visit *const *)a;
	const struct visit *right = *(const struct visit *const *)b;
	return (left->event.link_id > right->event.link_id) -
	       (left->event.link_id < right->event.link_id);
}

static void gather_ids(struct link_owners *owners, struct visit *visits, size_t count)
{
	for (size_t i = 0; i < count; i++)
		owners->sorted[i] = &visits[i];
	qsort(owners->sorted, count, sizeof(struct visit *), by_link);
	sql_column_reset(&owners->ids);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || by_link(&owners->sorted[i - 1], &owners->sorted[i]) != 0)
			sql_column_add_int(&owners->ids, owners->sorted[i]->event.link_id);
	}
}

/* Both lists are sorted by the id of the link. */
static void set_owners(struct link_owners *owners, size_t count)
{
	size_t row = 0;
	size_t rows = pg_result_count(owners->rows);
	for (size_t i = 0; i < count; i++) {
		struct visit_event *event = &owners->sorted[i]->event;
		while (row < rows && pg_result_int(owners->rows, row, 0) < event->link_id)
			row++;
		bool is_found = row < rows && pg_result_int(owners->rows, row, 0) == event->link_id;
		event->owner_id = is_found ? pg_result_int(owners->rows, row, 1) : 0;
		event->tags = is_found ? pg_result_text(owners->rows, row, 2) : NULL;
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
		set_owners(owners, count);
	return err;
}
