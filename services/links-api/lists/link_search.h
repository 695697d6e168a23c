/*
 * Chooses the trigrams of a search text that PostgreSQL looks up in the trigram index
 * links_search_idx. A trigram that most links contain costs the index a hundred times as much as a
 * rare one, and a few rare ones leave few enough links to compare with the full text
 * (docs/decisions/0028-link-lists-and-search.md).
 *
 *   link_search_init(&search, "example42.");
 *   link_search_count(conn, &search, &all);         // reads how many links contain each trigram
 *   link_search_choose(&search, all);               // marks "e42" and "42." as used
 *
 * One thread at a time; pure but for link_search_count.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_LINK_SEARCH_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_LINK_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/strbuf.h"
#include "lib/links/link.h"
#include "lib/postgres/pg_conn.h"
#include "services/links-api/lists/sql_texts.h"

/* Further trigrams of a long text are ignored. */
#define LINK_SEARCH_TRIGRAMS_MAX 200
#define LINK_SEARCH_TRIGRAM_BYTES 3
/*
 * A trigram is rare if at most one link in so many contains it. Looking up several common ones
 * costs more than it saves.
 */
#define LINK_SEARCH_RARE_ONE_IN 10
/* At most so many trigrams are used: each costs time, and the rarest narrow the result most. */
#define LINK_SEARCH_USED_MAX 6

struct link_search_trigram {
	/* Offset in the text. */
	size_t at;
	/* As pg_trgm stores it: lower case, a space for a word boundary. */
	char name[LINK_SEARCH_TRIGRAM_BYTES + 1];
	/* That contain it; 0 = few, or unknown. */
	int64_t links;
	/* The index looks it up. */
	bool is_used;
};

struct link_search {
	/* Borrowed. */
	const char *text;
	/* The link counts of the trigrams are known. */
	bool is_counted;
	size_t count;
	struct link_search_trigram trigrams[LINK_SEARCH_TRIGRAMS_MAX];
};

/* Finds the ASCII trigrams that every link with this text contains. text: valid UTF-8, borrowed. */
void link_search_init(struct link_search *search, const char *text);

/*
 * Sets is_used for the rarest of the rare trigrams, LINK_SEARCH_USED_MAX at most. Without a rare
 * one, it uses one or two common ones. all: the number of links, 0 = unknown.
 */
void link_search_choose(struct link_search *search, int64_t all);

/*
 * An upper bound of the links that the index returns. 0 = few, or unknown; -1 = no trigram is used.
 */
int64_t link_search_max_matches(const struct link_search *search);

/*
 * Sets is_used[i] if byte i of the text belongs to a used trigram. is_used has an entry for each
 * byte.
 */
void link_search_mark(const struct link_search *search, bool *is_used);

/*
 * --- SQL ---
 *
 * A search covers slug, original URL, title, and the URL as people see it (destination.h), joined by
 * line feeds. None of them contains a line feed, so a match in the joined text is a match in one.
 */

/*
 * Reads how many links contain each trigram, which the janitor estimates from a sample. *all: the
 * number of links, 0 = not counted yet. Errors of pg_conn_query pass through.
 */
enum err link_search_count(struct pg_conn *conn, struct link_search *search,
                           int64_t *all) MUST_CHECK;

/* False if links_search_idx cannot help: the text has fewer than three usable characters. */
bool link_search_has_index(const struct link_search *search);

/*
 * Appends " AND …": a condition that the index evaluates. It is true for every link that contains
 * the text, and for some more. Appends nothing if the index cannot help.
 */
void link_search_add_index(const struct link_search *search, struct strbuf *sql,
                           struct pg_params *params, struct sql_texts *texts);

/*
 * The conditions between these two do not apply to one link, which is found in any case. Append
 * nothing if id is 0.
 */
void link_search_begin_or_id(int64_t id, struct strbuf *sql);
void link_search_end_or_id(int64_t id, struct strbuf *sql);

/* Appends " AND …": true for exactly the links that contain text, ignoring case. Uses no index. */
void link_search_add_exact(const char *text, struct strbuf *sql, struct pg_params *params,
                           struct sql_texts *texts);

/*
 * Adds the condition for links in a state of link_state_at; 0: all but DELETED. is_used_up: only
 * those that have used up max_visits.
 */
void link_search_add_state(enum link_state state, bool is_used_up, struct strbuf *text);

#endif
