#include "services/links-api/lists/nql_lexer.h"

#include <string.h>

#include "lib/base/utf8.h"

char nql_lexer_peek(const struct nql_lexer *lexer)
{
	if (lexer->at == lexer->len)
		return '\0';
	return lexer->text[lexer->at];
}

bool nql_lexer_skip_spaces(struct nql_lexer *lexer)
{
	size_t start = lexer->at;
	while (nql_lexer_peek(lexer) == ' ')
		lexer->at++;
	return lexer->at > start;
}

bool nql_lexer_take(struct nql_lexer *lexer, const char *word)
{
	size_t len = strlen(word);
	if (lexer->len - lexer->at < len || memcmp(lexer->text + lexer->at, word, len) != 0)
		return false;
	lexer->at += len;
	return true;
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || c == '_';
}

const char *nql_lexer_name(struct nql_lexer *lexer, size_t *len)
{
	const char *name = lexer->text + lexer->at;
	size_t start = lexer->at;
	while (is_name(nql_lexer_peek(lexer)))
		lexer->at++;
	*len = lexer->at - start;
	return name;
}

/* Copies the next character. False: a value must not contain it. */
static bool copy_next(struct nql_lexer *lexer, char *out, size_t *out_len)
{
	const char *from = lexer->text + lexer->at;
	size_t step = utf8_next(from, lexer->len - lexer->at);
	if (step == 0 || utf8_is_control(from))
		return false;
	memcpy(out + *out_len, from, step);
	*out_len += step;
	lexer->at += step;
	return true;
}

static enum err quoted(struct nql_lexer *lexer, char *out, size_t *out_len)
{
	while (lexer->at < lexer->len) {
		if (nql_lexer_take(lexer, "'")) {
			out[*out_len] = '\0';
			return OK;
		}
		bool is_escaped = nql_lexer_take(lexer, "\\");
		char next = nql_lexer_peek(lexer);
		if ((is_escaped && next != '\'' && next != '\\') || !copy_next(lexer, out, out_len))
			return ERR_INVALID;
	}
	return ERR_INVALID;
}

static bool ends_bare(char c)
{
	return strchr(" +,()[]'\"\\", c) != NULL;
}

enum err nql_lexer_value(struct nql_lexer *lexer, char *out, size_t *out_len,
                         enum nql_lexer_form *form)
{
	*out_len = 0;
	*form = NQL_LEXER_QUOTED;
	if (nql_lexer_take(lexer, "'"))
		return quoted(lexer, out, out_len);
	*form = NQL_LEXER_BARE;
	if (nql_lexer_peek(lexer) == '-')
		return ERR_NOT_FOUND;
	while (!ends_bare(nql_lexer_peek(lexer))) {
		if (!copy_next(lexer, out, out_len))
			return ERR_INVALID;
	}
	out[*out_len] = '\0';
	return *out_len > 0 ? OK : ERR_NOT_FOUND;
}
