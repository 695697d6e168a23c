/*
 * One thread at a time. The task "lists", which keeps the lists of links fast:
 *
 * - copies visit counts into link_ranking, the sort order by visits;
 * - merges rows of link_counts, so that counting an owner's links reads few rows
 *   (docs/decisions/0028-link-lists-and-search.md);
 * - moves new links from the pending list into the search indexes;
 * - samples once an hour which trigrams are frequent
 *   (docs/decisions/0028-link-lists-and-search.md).
 *
 * A run that does not happen only makes the sort order stale.
 */
#ifndef WAYMARK_SERVICES_JANITOR_LINKS_LINK_LISTS_H
#define WAYMARK_SERVICES_JANITOR_LINKS_LINK_LISTS_H

#include "services/janitor/tasks/run.h"

/* *changed: links whose place in the sort order was checked. */
enum err link_lists_run(struct run *run, int64_t *changed) MUST_CHECK;

#endif
