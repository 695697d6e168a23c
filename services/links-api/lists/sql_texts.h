/*
 * One thread at a time. Texts that are made for one statement and live until it has run: pg_params only borrows. Starts
 * as { 0 }.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_SQL_TEXTS_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_SQL_TEXTS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/net/pg_params.h"

struct sql_texts {
	size_t count;
	char *text[PG_PARAMS_MAX]; /* owned; a statement cannot have more */
};

/* A pattern of LIKE for everything that contains text. */
const char *sql_texts_containing(struct sql_texts *texts, const char *text, size_t len);

/* A pattern of LIKE for everything that contains the kept bytes of text, whatever stands between their runs. */
const char *sql_texts_around(struct sql_texts *texts, const char *text, const bool *kept);

/* The text of an array of texts, '{"a","b"}'. */
const char *sql_texts_array(struct sql_texts *texts, const char *const *items, size_t count);

void sql_texts_clear(struct sql_texts *texts);

#endif
