/*
 * Safe from any thread. The texts of mails in English, French and German. {name} stands for a member of the
 * mail's data, {sender} and {settings} for what mail_render.h says. A line is a paragraph; it is
 * left out if one of its names has no value.
 */
#ifndef WAYMARK_SERVICES_JANITOR_MAIL_MAIL_TEXTS_H
#define WAYMARK_SERVICES_JANITOR_MAIL_MAIL_TEXTS_H

#include <stdint.h>

#include "lib/base/strbuf.h"

enum mail_language { MAIL_ENGLISH, MAIL_GERMAN, MAIL_FRENCH, MAIL_LANGUAGES };

/* Of a BCP 47 locale, such as "de-AT"; English for "" and what is no language of ours. */
enum mail_language mail_texts_language(const char *locale);
/* "en" */
const char *mail_texts_code(enum mail_language language);

/* The text "KIND.PART", such as "test.subject"; NULL if there is none. kind "": of all mails. */
const char *mail_texts_get(enum mail_language language, const char *kind, const char *part);

/* "5 December 2026, 14:00 UTC" */
void mail_texts_add_time(enum mail_language language, int64_t time_us, struct strbuf *out);
/* "December 2026" of "2026-12". Adds nothing if month is none. */
void mail_texts_add_month(enum mail_language language, const char *month, struct strbuf *out);
/* "1,234" */
void mail_texts_add_number(enum mail_language language, int64_t number, struct strbuf *out);

#endif
