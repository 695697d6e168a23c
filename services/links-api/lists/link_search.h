/*
 * Pure. What the index of searches is asked for when somebody searches: the trigrams that many links have cost it a
 * hundred times what rare ones do, and a few rare ones find few enough links to look at the whole of what is wanted
 * (docs/decisions/0032-searches-that-find-very-many.md).
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_LINK_SEARCH_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_LINK_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a text has beyond so many trigrams is not looked at. */
#define LINK_SEARCH_TRIGRAMS_MAX 200
#define LINK_SEARCH_TRIGRAM_BYTES 3
/* What more links have is common: several of such trigrams cost more than they save. */
#define LINK_SEARCH_RARE_ONE_IN 10
/* So many are asked for at most: each one more costs, and the rarest say most. */
#define LINK_SEARCH_ASKED_MAX 6

struct link_search_trigram {
	size_t at;                                /* of its bytes in the text */
	char name[LINK_SEARCH_TRIGRAM_BYTES + 1]; /* as pg_trgm has it: lower case, a space for what is of no word */
	int64_t links;                            /* that have it; 0: few, or nobody knows */
	bool is_asked;                            /* the index is asked for it */
};

struct link_search {
	const char *text; /* borrowed */
	bool is_counted;  /* how many links have which trigram is known */
	size_t count;
	struct link_search_trigram trigrams[LINK_SEARCH_TRIGRAMS_MAX];
};

/* The trigrams of text, which is valid UTF-8, that are ASCII and that every link has that contains text. */
void link_search_init(struct link_search *search, const char *text);

/*
 * Sets is_asked: of what one link in LINK_SEARCH_RARE_ONE_IN has at most, the rarest; if there is none, one or two others. all: how
 * many links there are; 0: nobody knows.
 */
void link_search_choose(struct link_search *search, int64_t all);

/* How many links the index finds at most, 0: few, or nobody knows; -1: it is asked for nothing. */
int64_t link_search_found_max(const struct link_search *search);

/* kept has room for each byte of the text: whether it belongs to what the index is asked for. */
void link_search_mark(const struct link_search *search, bool *kept);

#endif
