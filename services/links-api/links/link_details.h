/*
 * What the API shows of links beside their rows: aliases, visits and how many are left, the last check of
 * the destination, notes. Begin with { 0 }. Not thread-safe.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_DETAILS_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_DETAILS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/links/link_aliases.h"
#include "services/links-api/http/request.h"

struct link_detail {
	int64_t visit_count;
	int64_t bot_count;
	int64_t last_visited_at_us;
	/* HTTP status, LINK_CHECK_NO_ANSWER or LINK_CHECK_NEVER. */
	int destination_status;
	int64_t last_checked_at_us;
	/* When a link that has ended is purged, at the earliest; 0: it has not, or no janitor has run. */
	int64_t purge_at_us;
	/* At least 0, or VISIT_LIMIT_NONE. */
	int64_t visits_left;
	/* "" = none, NULL = not a link of the reader's workspace; owned. */
	char *notes;
};

struct link_details {
	size_t count;
	/* In the order of the ids; owned. */
	struct link_detail *of;
	/* Of those links that were wanted before. */
	struct link_aliases aliases;
};

/*
 * Replaces what details has by that of these links: "not yet" and zeros for an id without a link. Call
 * link_aliases_want for each of them before.
 * Errors of pg_conn_query.
 */
enum err link_details_read(struct link_details *details, const struct request *r,
                           struct pg_conn *conn, const int64_t *ids, size_t count) MUST_CHECK;

/* The same for one link that has just been created, without a limit. notes: NULL = not for this reader. */
void link_details_set_new(struct link_details *details, const char *notes);

void link_details_clear(struct link_details *details);

#endif
