/*
 * One thread at a time. The task "lists": the order of links by their visits (link_ranking) follows their statistics, what
 * counts the links of an owner (link_counts) stays few rows, new links are sorted into the indexes of searches
 * (docs/decisions/0028-lists-of-links.md), and once an hour a sample says what most links have
 * (docs/decisions/0032-searches-that-find-very-many.md). A run that is left out costs freshness of the order, nothing
 * else.
 */
#ifndef WAYMARK_SERVICES_JANITOR_LINK_LISTS_H
#define WAYMARK_SERVICES_JANITOR_LINK_LISTS_H

#include "services/janitor/run.h"

/* *changed: links whose place in the order was looked at. */
enum err link_lists_run(struct run *run, int64_t *changed) MUST_CHECK;

#endif
