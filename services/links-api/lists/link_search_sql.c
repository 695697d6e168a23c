#include "services/links-api/lists/link_search_sql.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/utf8.h"

/* What links_search_idx is made of, to the letter. */
#define TEXT "(slug COLLATE \"default\" || E'\\n' || original_url || E'\\n' || title)"
/* The same, which the index does not know. */
#define TEXT_UNINDEXED "(slug || (E'\\n' || original_url || E'\\n' || title))"

#define WRITE(sql, ...) strbuf_add_format(sql, __VA_ARGS__)

static bool is_ascii(const char *text)
{
	while (*text && (unsigned char)*text < 0x80)
		text++;
	return *text == '\0';
}

static bool has_whole_index(const struct link_search *search)
{
	return !is_ascii(search->text) && utf8_length(search->text, strlen(search->text)) >= LINK_SEARCH_TRIGRAM_BYTES;
}

bool link_search_sql_has_index(const struct link_search *search)
{
	return link_search_found_max(search) >= 0 || has_whole_index(search);
}

/*
 * Where we know better, the pattern is behind a SELECT so that PostgreSQL does not look into it before it decides to use
 * the index: its statistics guess wrong about fragments.
 */
static void add_asked(const struct link_search *search, struct strbuf *sql, struct pg_params *params,
                      struct sql_texts *texts)
{
	bool *kept = mem_array(strlen(search->text) + 1, sizeof(*kept));
	link_search_mark(search, kept);
	pg_params_text(params, sql_texts_around(texts, search->text, kept));
	free(kept);
	WRITE(sql, " AND " TEXT " ILIKE %s$%d%s", search->is_counted ? "(SELECT " : "", params->count,
	      search->is_counted ? "::text)" : "");
}

/* Here PostgreSQL looks: it may see that the index has no trigram of such a text. */
static void add_whole(const struct link_search *search, struct strbuf *sql, struct pg_params *params,
                      struct sql_texts *texts)
{
	pg_params_text(params, sql_texts_containing(texts, search->text, strlen(search->text)));
	WRITE(sql, " AND " TEXT " ILIKE $%d", params->count);
}

void link_search_sql_add_index(const struct link_search *search, struct strbuf *sql, struct pg_params *params,
                               struct sql_texts *texts)
{
	if (link_search_found_max(search) >= 0)
		add_asked(search, sql, params, texts);
	else if (has_whole_index(search))
		add_whole(search, sql, params, texts);
}

/* Where letters of ASCII alone have cases, looking costs less than half. */
void link_search_sql_add_exact(const char *text, struct strbuf *sql, struct pg_params *params, struct sql_texts *texts)
{
	if (is_ascii(text)) {
		pg_params_text(params, text);
		WRITE(sql, " AND position(lower($%d COLLATE \"C\") IN lower(" TEXT_UNINDEXED " COLLATE \"C\")) > 0",
		      params->count);
	} else {
		pg_params_text(params, sql_texts_containing(texts, text, strlen(text)));
		WRITE(sql, " AND " TEXT_UNINDEXED " COLLATE \"default\" ILIKE $%d", params->count);
	}
}
