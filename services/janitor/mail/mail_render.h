/*
 * Renders a mail in its two forms from the catalogue (mail_texts.h). Values are escaped for HTML.
 * In all forms, control characters and those that change the direction of text become spaces, and a
 * value is cut after 200 characters. Pure.
 *
 * Beside the members that a text names, data has
 *   url    of the button; left out if it is neither http nor https
 *   links  an array of {name, detail, value}: the rows of a list; detail and value are texts, value
 *          also a number; value null: no answer
 *   more   how many links the list lacks
 */
#ifndef WAYMARK_SERVICES_JANITOR_MAIL_MAIL_RENDER_H
#define WAYMARK_SERVICES_JANITOR_MAIL_MAIL_RENDER_H

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

struct mail_source {
	/* As in mail_outbox.h. */
	const char *kind;
	const char *locale;
	const struct json *data;
	/* Who sends it, for the reader: the name of MAIL_FROM. */
	const char *sender;
	/* The page of the reader's settings; "": unknown. */
	const char *settings;
};

struct mail_forms {
	struct strbuf subject;
	struct strbuf text;
	struct strbuf html;
};

void mail_render_init(struct mail_forms *forms);
void mail_render_clear(struct mail_forms *forms);

/* Fills forms, which are initialised. ERR_INVALID: no such kind. ERR_LIMIT: too much data. */
enum err mail_render(const struct mail_source *source, struct mail_forms *forms) MUST_CHECK;

#endif
