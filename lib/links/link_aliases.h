/*
 * Earlier slugs of links, which still lead to them: the table link_aliases. Each name of a link, its
 * slug and its aliases, has a record on waymark.links.v1, a value in Redis and an outbox row of its
 * own; outbox.h adds those of the aliases. An alias is made only by a change of the slug, so
 * links_slug_key serialises that with everybody who wants the slug. It ends in a tombstone, so that
 * nobody else gets it.
 *
 * Two slugs that differ by case alone are one name unless both are exact (slug.h). A change from one
 * spelling of a name to another leaves no alias.
 *
 * One thread at a time per connection. Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_LIB_LINKS_LINK_ALIASES_H
#define WAYMARK_LIB_LINKS_LINK_ALIASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/links/link.h"
#include "lib/postgres/pg_conn.h"

struct link_event;

/* A name of a link: an alias, or what its slug was before a change. */
struct link_alias {
	int64_t link_id;
	/* When another slug took its place; 0 = not yet. */
	int64_t created_at_us;
	/* As in struct link_entry. */
	bool is_slug_chosen;
	bool is_slug_exact;
	char slug[SLUG_SIZE];
};

/* The aliases of some links. Initialise with { 0 }; at most LINK_ALIASES_MAX a link. */
struct link_aliases {
	/* The links that have some, in the order in which they were wanted. */
	size_t link_count;
	struct {
		int64_t id, version;
	} * links;
	/* What they have, as read: by link_id, of each the newest first. */
	size_t count;
	struct link_alias *rows;
};

/* Asks for the aliases of a link, if it has any. */
void link_aliases_want(struct link_aliases *aliases, const struct link *link);
/* Reads the aliases of all links that were wanted, in place of what it has. */
enum err link_aliases_read(struct link_aliases *aliases, struct pg_conn *conn) MUST_CHECK;
/* Those of one link: points *first to them and returns how many. Pure. */
size_t link_aliases_of(const struct link_aliases *aliases, int64_t link_id,
                       const struct link_alias **first);
void link_aliases_clear(struct link_aliases *aliases);

/* Turns the event of a link into the one of its alias, with an id of its own. */
void link_aliases_to_event(const struct link_alias *alias, struct link_event *event);

/*
 * --- changes of a locked link ---
 *
 * Each comes before the update of the table links, which writes the new slug and alias_count and
 * adds the events of the names that the link has then. Names that it has no more are in *ended:
 * link_aliases_add_ended comes after that update.
 */

/* Initialise with { 0 }. */
struct link_aliases_ended {
	size_t count;
	struct link_alias names[LINK_ALIASES_MAX + 1];
};

/* The slug of a link as a name, to keep from before a change. Pure. */
struct link_alias link_aliases_slug(const struct link_entry *entry);

/*
 * Changes the slug from before to link's, whose is_slug_exact says what a new slug would be. Sets
 * is_slug_chosen, is_slug_exact and alias_count. Does nothing if the slug is the same. An own alias
 * can be the slug again. ERR_LIMIT: the link would have more than LINK_ALIASES_MAX aliases.
 */
enum err link_aliases_rename(struct pg_conn *conn, const struct link_alias *before,
                             struct link *link, struct link_aliases_ended *ended) MUST_CHECK;

/* Ends one alias, as it is spelled, in a tombstone. ERR_NOT_FOUND: the link has no such alias. */
enum err link_aliases_remove(struct pg_conn *conn, struct link *link, const char *slug,
                             struct link_aliases_ended *ended) MUST_CHECK;

/* Adds the events of the names that ended, at the version of link. */
enum err link_aliases_add_ended(struct pg_conn *conn, const struct link *link,
                                const struct link_aliases_ended *ended) MUST_CHECK;

/*
 * Ends the aliases of the links that were wanted at the version of their purge, which the transaction
 * has deleted and whose events it has added. last_state: theirs before.
 */
enum err link_aliases_purge(struct pg_conn *conn, const struct link_aliases *aliases,
                            enum link_state last_state) MUST_CHECK;

/* --- SQL --- */

/* True for the rows of links whose slug or alias slug_ names, in any case that it may have. */
#define LINK_ALIASES_ANSWER_TO(slug_)                                                              \
	"id = ANY (ARRAY(SELECT id FROM links WHERE " LINK_ROW_ANSWERS_TO(                         \
		slug_) " UNION ALL SELECT link_id FROM link_aliases WHERE " LINK_ROW_ANSWERS_TO(slug_) "))"

#endif
