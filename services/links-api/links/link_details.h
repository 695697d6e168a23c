/*
 * What the API shows of links beside their rows: aliases, visits and how many are left, the last check of
 * the destination, notes. Begin with { 0 }. Not thread-safe.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_DETAILS_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_DETAILS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/clicks/statistics_store.h"
#include "lib/links/link_aliases.h"
#include "lib/links/link_check_store.h"
#include "services/links-api/http/request.h"

/* Arrays of count elements, in the order of the ids; owned. */
struct link_details {
	size_t count;
	struct statistics *statistics;
	struct link_check *checks;
	/* Of link_notes_store_get_bulk. */
	char **notes;
	/* Of those links that were wanted before. */
	struct link_aliases aliases;
	/* Of visit_limit_left. */
	int64_t *visits_left;
};

/*
 * Replaces what details has by that of these links: "not yet" and zeros for an id without a link. Call
 * link_aliases_want for each of them before.
 * Errors of pg_conn_query.
 */
enum err link_details_read(struct link_details *details, const struct request *r,
                           struct pg_conn *conn, const int64_t *ids, size_t count) MUST_CHECK;

/* The same for one link that has just been created, without a limit. notes: NULL = not for this reader. */
void link_details_set_new(struct link_details *details, int64_t link_id, const char *notes);

void link_details_clear(struct link_details *details);

#endif
