/*
 * Pure. Parses a filter for links (NQL, docs/api/nql.md) into a tree, and writes it as SQL:
 *
 *   state:active+(tag:[sale,promo],title:~'summer')+created_at:>=2026-11-01
 *
 * Length, nesting, terms and values are bounded. struct nql contains no pointers to memory of its
 * own, so it can be copied; it takes about 8 KB.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_NQL_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_NQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/postgres/pg_params.h"
#include "services/links-api/lists/sql_texts.h"

#define NQL_BYTES_MAX 2000
#define NQL_DEPTH_MAX 16
#define NQL_TERMS_MAX 15 /* each term uses up to two of PG_PARAMS_MAX parameters */
#define NQL_VALUES_MAX 100
#define NQL_NODES_MAX (2 * NQL_TERMS_MAX - 1)
#define NQL_REASON_SIZE 200

/*
 * A field of a filter and its SQL expression. Only these expressions become part of the SQL; values
 * are parameters.
 */
enum nql_field_type {
	NQL_FIELD_TEXT,      /* supports equal, contains and one of */
	NQL_FIELD_NUMBER,    /* supports equal, one of and comparisons */
	NQL_FIELD_TIME,      /* as numbers; RFC 3339, or a date: its first moment in UTC */
	NQL_FIELD_STATE,     /* names of enum link_state */
	NQL_FIELD_LINK_TYPE, /* names of enum link_type */
	NQL_FIELD_TAGS,      /* equal: has the tag; contains: one tag contains the text */
	NQL_FIELD_FEATURE,   /* equal: has the feature; its number is its bit */
};

struct nql_field {
	const char *name;
	enum nql_field_type type;
	bool is_nullable;
	/* A column of link_ranking, joined to links. */
	bool needs_ranking;
	/* Part of the text in links_search_idx. */
	bool is_searched;
	/* An expression over a row of links (and link_ranking). */
	const char *sql;
};

/* NULL = unknown field. */
const struct nql_field *nql_sql_find_field(const char *name, size_t len);

enum nql_operator {
	NQL_EQUAL,
	NQL_CONTAINS,
	NQL_BEGINS,
	NQL_GREATER,
	NQL_GREATER_OR_EQUAL,
	NQL_LESS,
	NQL_LESS_OR_EQUAL,
	NQL_ONE_OF,
};

struct nql_value {
	/* Offset in texts of struct nql. */
	uint16_t text;
	bool is_null;
	/* NQL_FIELD_NUMBER: the value; NQL_FIELD_TIME: µs since 1970, truncated to ms. */
	int64_t number;
};

enum nql_kind { NQL_TERM, NQL_AND, NQL_OR };

struct nql_node {
	enum nql_kind kind;
	/* Of AND and OR: indexes of earlier nodes. */
	uint8_t left, right;
	/* Terms only: */
	const struct nql_field *field;
	enum nql_operator op;
	bool is_not;
	uint8_t value, value_count;
};

struct nql {
	/* The last one is the root. */
	uint8_t node_count;
	uint8_t term_count;
	uint8_t value_count;
	struct nql_node nodes[NQL_NODES_MAX];
	struct nql_value values[NQL_VALUES_MAX];
	char texts[NQL_BYTES_MAX + NQL_VALUES_MAX];
};

/* text: valid UTF-8. ERR_INVALID: reason says what is wrong, and at which character. */
enum err nql_parse(const char *text, struct nql *out,
                   char reason[static NQL_REASON_SIZE]) MUST_CHECK;

/* True if a field of the filter needs the table link_ranking. */
bool nql_needs_ranking(const struct nql *filter);

const char *nql_text(const struct nql *filter, const struct nql_value *value);

/* The maximal number of parameters of a filter: two for each term. */
#define NQL_SQL_PARAMS_MAX (2 * NQL_TERMS_MAX)

/*
 * Appends "(…)", a condition on links, and on link_ranking if nql_needs_ranking. filter and texts
 * must live until the statement has run.
 */
void nql_sql_add(const struct nql *filter, struct strbuf *sql, struct pg_params *params,
                 struct sql_texts *texts);

#endif
