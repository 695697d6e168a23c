#include "services/links-api/links/link_details.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/links/visit_limit.h"
#include "services/links-api/links/link_notes_store.h"

static void make_room(struct link_details *details, size_t count)
{
	struct link_aliases wanted = details->aliases;
	details->aliases = (struct link_aliases){ 0 };
	link_details_clear(details);
	details->aliases = wanted;
	details->count = count;
	details->statistics = mem_array(count, sizeof(*details->statistics));
	details->checks = mem_array(count, sizeof(*details->checks));
	details->notes = mem_array(count, sizeof(*details->notes));
	details->visits_left = mem_array(count, sizeof(*details->visits_left));
}

enum err link_details_read(struct link_details *details, const struct request *r,
                           struct pg_conn *conn, const int64_t *ids, size_t count)
{
	make_room(details, count);
	enum err err = link_aliases_read(&details->aliases, conn);
	if (err == OK)
		err = statistics_store_get_bulk(conn, ids, count, details->statistics);
	if (err == OK)
		err = link_check_store_get_bulk(conn, ids, count, details->checks);
	if (err == OK)
		err = visit_limit_left(conn, ids, count, details->visits_left);
	return err == OK ? link_notes_store_get_bulk(conn, r->workspace_id, ids, count,
	                                             details->notes)
	                 : err;
}

void link_details_set_new(struct link_details *details, int64_t link_id, const char *notes)
{
	make_room(details, 1);
	details->statistics[0].link_id = link_id;
	details->checks[0].status = LINK_CHECK_NEVER;
	details->visits_left[0] = VISIT_LIMIT_NONE;
	if (notes)
		details->notes[0] = mem_text(notes);
}

void link_details_clear(struct link_details *details)
{
	free(details->statistics);
	free(details->checks);
	for (size_t i = 0; i < details->count; i++)
		free(details->notes[i]);
	free(details->notes);
	free(details->visits_left);
	link_aliases_clear(&details->aliases);
	*details = (struct link_details){ 0 };
}
