/*
 * One thread at a time. The two tasks about links.
 *
 * "expiry" marks ACTIVE links as EXPIRED once their time is over, and purges links that have been
 * EXPIRED or DELETED for their grace period. Visitors see a link as expired even before it is
 * marked: the mark only starts the grace period. It changes at most EXPIRY_LINKS_PER_S links per
 * second, in batches of at most RUN_BATCH_ROWS. Batches shrink while they take longer than 30 ms, so
 * that other transactions wait little.
 *
 * "lists" keeps the lists of links fast (docs/decisions/0028-link-lists-and-search.md):
 *
 * - copies visit counts into link_ranking, the sort order by visits;
 * - merges rows of link_counts, so that counting a workspace's links reads few rows;
 * - moves new links from the pending list into the search indexes;
 * - samples once an hour which trigrams are frequent.
 *
 * A run of it that does not happen only makes the sort order stale.
 */
#ifndef WAYMARK_SERVICES_JANITOR_LINKS_LINKS_H
#define WAYMARK_SERVICES_JANITOR_LINKS_LINKS_H

#include "services/janitor/tasks/run.h"

/* *changed: links marked and links purged. */
enum err links_expire(struct run *run, int64_t *changed) MUST_CHECK;

/* *changed: links whose place in the sort order was checked. */
enum err links_refresh_lists(struct run *run, int64_t *changed) MUST_CHECK;

#endif
