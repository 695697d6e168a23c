/*
 * One thread at a time, as its request. One existing link that a request reads or changes: the link,
 * what is read with it, and the answers about it. Internal to link_handlers.c and those beside it.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_HANDLED_LINK_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_HANDLED_LINK_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/links/link_aliases.h"
#include "lib/links/link_cache.h"
#include "services/links-api/http/request.h"
#include "services/links-api/links/link_change.h"
#include "services/links-api/links/link_details.h"
#include "services/links-api/links/link_history.h"

/* A slug, its aliases, and names that a change has ended. */
#define HANDLED_LINK_NAMES_MAX (1 + LINK_ALIASES_MAX + LINK_ALIASES_MAX + 1)

/* Initialise with { 0 }. About 45 KB. */
struct handled_link {
	struct link link;
	/* Of a purge, only the aliases that the link had. */
	struct link_details details;
	/* Before a change. */
	struct link_history_extras before;
	/* Names that the change took from it. */
	struct link_aliases_ended ended;
	struct link_change_conflict conflict;
	/* Another link has the new slug, or the new external_id. */
	bool is_slug_used, is_external_id_used;
	/* If-Match names another version. */
	bool is_stale;
	/* The change would take the last tag away by which the API key sees the link. */
	bool is_beyond_key;
	/* Redis has this version, or is known to be invalid. */
	bool is_cached;
	/* In Redis, reserved before the commit. */
	struct link_cache_reservation place;
};

/* Ends the request with the link, or as handled_link_answer_error, and clears s. */
enum http_progress handled_link_answer(struct request *r, struct handled_link *s, enum err err);
enum http_progress handled_link_answer_error(struct request *r, const struct handled_link *s,
                                             enum err err);
void handled_link_clear(struct handled_link *s);

/* The link of request_path_id with all that the response shows. ERR_NOT_FOUND also: it is DELETED. */
enum err handled_link_read(const struct request *r, struct pg_conn *conn,
                           struct handled_link *s) MUST_CHECK;
/* The details alone, of a link that was locked. */
enum err handled_link_read_details(const struct request *r, struct pg_conn *conn,
                                   struct handled_link *s) MUST_CHECK;

/* The slug of the link and its other names, also those that a change has ended. Returns how many. */
size_t handled_link_names(const struct handled_link *s,
                          const char *names[static HANDLED_LINK_NAMES_MAX]);

/* After the commit of a change, or once it is known that Redis may lack one. Blocks. */
void handled_link_update_cache(const struct request *r, const struct handled_link *s);

#endif
