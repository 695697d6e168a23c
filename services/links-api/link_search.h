/*
 * Pure. What the index of searches is asked for when somebody searches: the trigrams that many links have cost it a
 * hundred times what rare ones do, and one rare word finds few enough links to look at the whole of what is wanted.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINK_SEARCH_H
#define WAYMARK_SERVICES_LINKS_API_LINK_SEARCH_H

#include <stddef.h>

/*
 * What links_search_idx is made of, to the letter: slug, target and title with line ends between them, which none of
 * them has. Whatever is found in one of them is found in this.
 */
#define LINK_SEARCH_TEXT "(slug COLLATE \"default\" || E'\\n' || original_url || E'\\n' || title)"
/* The same, which the index does not know. */
#define LINK_SEARCH_TEXT_UNINDEXED "(slug || E'\\n' || original_url || E'\\n' || title) COLLATE \"default\""

/*
 * The word of q, which is valid UTF-8, that is rare for certain, nearly: the longest of those with a digit and three
 * characters, which is what a trigram takes, and no year. All of q if there is none: then PostgreSQL's statistics know better.
 */
const char *link_search_word(const char *q, size_t *len);

#endif
