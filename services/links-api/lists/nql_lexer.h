/*
 * One thread at a time. The words of a filter, one after the other (docs/api/nql.md). What a word may be depends on
 * where it stands: "-" is a sign before a value and a character inside it, ":" stands inside times. So whoever parses
 * says what is expected.
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

/* Past spaces; true: there were some. */
bool nql_lexer_skip_spaces(struct nql_lexer *lexer);

/* What comes next, '\0' at the end. */
char nql_lexer_peek(const struct nql_lexer *lexer);

/* Takes the word if it comes next. */
bool nql_lexer_take(struct nql_lexer *lexer, const char *word);

/* a-z and _; *len 0: there is none. */
const char *nql_lexer_name(struct nql_lexer *lexer, size_t *len);

enum nql_lexer_form { NQL_LEXER_BARE, NQL_LEXER_QUOTED };

/*
 * A value: '…', in which \' and \\ stand for ' and \, or bare: no spaces and none of + , ( ) [ ] ' " \ and not "-" at
 * its beginning. out has room for what is left of the text and a NUL. ERR_NOT_FOUND: none comes next. ERR_INVALID: a
 * quote is not closed, a \ is before something else, or it has a control character; at is where.
 */
enum err nql_lexer_value(struct nql_lexer *lexer, char *out, size_t *out_len, enum nql_lexer_form *form) MUST_CHECK;

#endif
