/*
 * One thread at a time. Owns texts that are built for one statement until it has run: pg_params
 * only borrows. Initialize with { 0 }.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_SQL_TEXTS_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_SQL_TEXTS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/postgres/pg_params.h"

struct sql_texts {
	size_t count;
	/* Owned. */
	char *text[PG_PARAMS_MAX];
};

/*
 * All three functions return NULL when PG_PARAMS_MAX texts exist already. Such a statement would be
 * refused anyway.
 */

/* A LIKE pattern that matches every string that contains text. */
const char *sql_texts_like_containing(struct sql_texts *texts, const char *text, size_t len);

/*
 * A LIKE pattern that matches every string that contains the used bytes of text in order. Unused
 * bytes become wildcards: "%e42%.com%". is_used has an entry for each byte.
 */
const char *sql_texts_like_fragments(struct sql_texts *texts, const char *text,
                                     const bool *is_used);

/* An array literal: '{"a","b"}'. */
const char *sql_texts_array(struct sql_texts *texts, const char *const *items, size_t count);

void sql_texts_clear(struct sql_texts *texts);

#endif
