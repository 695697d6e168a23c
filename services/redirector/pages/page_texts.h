/*
 * One thread at a time, before other threads start; then safe from any thread. The texts of the
 * pages for visitors, by language. English, French and German are built in. The operator's file
 * (PAGES_FILE) replaces them or adds languages:
 *
 *   [it]
 *   404.title = Questo link non esiste
 *   404.text = Controlla l'indirizzo.
 *
 * A line that is empty or begins with "#" is skipped. {host} and {operator} stand for the host of
 * short links and for OPERATOR_NAME. A text that a language lacks is English.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_PAGE_TEXTS_H
#define WAYMARK_SERVICES_REDIRECTOR_PAGE_TEXTS_H

#include <stddef.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"

#define PAGE_TEXTS_LANGUAGES_MAX 32
#define PAGE_TEXTS_LANGUAGE_SIZE 18
#define PAGE_TEXTS_VALUE_BYTES_MAX 500
#define PAGE_TEXTS_FILE_BYTES_MAX ((size_t)256 * 1024)

struct page_texts;

/*
 * path: "" for the built-in texts only. ERR_INVALID: problems has a line "PAGES_FILE: …" for each
 * entry that is wrong, and for a file that cannot be read.
 */
enum err page_texts_read(const char *path, struct strbuf *problems,
                         struct page_texts **out) MUST_CHECK;
void page_texts_free(struct page_texts *texts);

size_t page_texts_languages(const struct page_texts *texts);
/* "de". The first language, 0, is English. */
const char *page_texts_language(const struct page_texts *texts, size_t language);

/* The text of a key such as "404.title"; NULL if there is no such key. */
const char *page_texts_get(const struct page_texts *texts, size_t language, const char *key);

/*
 * The language that an Accept-Language header prefers (RFC 4647, 3.4 Lookup: "de-AT" finds "de");
 * English if it names none of ours, or is NULL.
 */
size_t page_texts_choose(const struct page_texts *texts, const char *accept_language);

#endif
