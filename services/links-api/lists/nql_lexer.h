/*
 * One thread at a time. Splits a filter into tokens (docs/api/nql.md). The meaning of a character
 * depends on its position: "-" negates before a value and is an ordinary character inside one, and
 * times contain ":". The parser therefore asks for the token that it expects.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_NQL_LEXER_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_NQL_LEXER_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

struct nql_lexer {
	const char *text;
	size_t len;
	size_t at;
};

/* Skips spaces. True if there were any. */
bool nql_lexer_skip_spaces(struct nql_lexer *lexer);

/* The next byte, '\0' at the end. */
char nql_lexer_peek(const struct nql_lexer *lexer);

/* Consumes word if it comes next. */
bool nql_lexer_take(struct nql_lexer *lexer, const char *word);

/* Consumes a name of a-z and _. *len 0 = none comes next. */
const char *nql_lexer_name(struct nql_lexer *lexer, size_t *len);

enum nql_lexer_form { NQL_LEXER_BARE, NQL_LEXER_QUOTED };

/*
 * Consumes a value. A quoted value is '…' with the escapes \' and \\. A bare value contains no
 * space and none of + , ( ) [ ] ' " \ and does not begin with "-". out has room for the rest of the
 * text and a NUL.
 *   ERR_NOT_FOUND  no value comes next
 *   ERR_INVALID    a missing closing quote, an unknown escape or a control character; lexer->at is
 *                  its offset
 */
enum err nql_lexer_value(struct nql_lexer *lexer, char *out, size_t *out_len,
                         enum nql_lexer_form *form) MUST_CHECK;

#endif
