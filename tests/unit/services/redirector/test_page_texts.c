#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "services/redirector/pages/page_texts.h"
#include "tests/support/test.h"

/* Reads a file with that content. */
static enum err read_content(const char *content, struct strbuf *problems, struct page_texts **out)
{
	char path[] = "/tmp/waymark-page-texts-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), strlen(content));
	close(fd);
	strbuf_init(problems, 4096);
	enum err err = page_texts_read(path, problems, out);
	unlink(path);
	return err;
}

static struct page_texts *read_valid(const char *content)
{
	struct strbuf problems;
	struct page_texts *texts = NULL;
	enum err err = read_content(content, &problems, &texts);
	assert_string_equal(problems.data, "");
	assert_int_equal(err, OK);
	strbuf_clear(&problems);
	return texts;
}

static void assert_language(const struct page_texts *texts, const char *accept, const char *name)
{
	assert_string_equal(page_texts_language(texts, page_texts_choose(texts, accept)), name);
}

TEST_CASE(chooses_the_language_of_the_visitor)
{
	struct page_texts *texts = read_valid("[pt-BR]\n404.title = Este link\n");
	assert_language(texts, NULL, "en");
	assert_language(texts, "", "en");
	assert_language(texts, "*", "en");
	assert_language(texts, "de", "de");
	assert_language(texts, "DE-at", "de");
	assert_language(texts, "en;q=0.5, de;q=0.6", "de");
	assert_language(texts, "de;q=0, en", "en");
	assert_language(texts, "de;q=0", "en");
	assert_language(texts, "it, pt-br;q=0.3", "pt-BR");
	assert_language(texts, "fr-CA, de;q=0.9", "fr");
	assert_language(texts, "pt", "en");
	assert_language(texts, "den", "en");
	assert_language(texts, "-,--,;q=1,de-", "de");
	page_texts_free(texts);
}

TEST_CASE(a_file_adds_and_replaces_texts)
{
	struct page_texts *texts =
		read_valid("# Italian\n\n[it]\r\n404.title =  Niente = nulla \r\n"
	                   "[en]\n404.title = Nothing here\n[de]\n");
	size_t it = page_texts_choose(texts, "it-CH");
	assert_int_equal(page_texts_languages(texts), 4);
	assert_string_equal(page_texts_get(texts, it, "404.title"), "Niente = nulla");
	assert_string_equal(page_texts_get(texts, 0, "404.title"), "Nothing here");
	assert_string_equal(page_texts_get(texts, 1, "404.title"), "Diesen Link gibt es nicht");
	/* English where the file has no text */
	assert_string_equal(page_texts_get(texts, it, "410.title"), "This link has expired");
	assert_null(page_texts_get(texts, it, "418.title"));
	page_texts_free(texts);
}

TEST_CASE(names_every_bad_entry)
{
	struct strbuf problems;
	struct page_texts *texts = NULL;
	assert_int_equal(read_content("404.title = early\n[\n[f_r]\n404.title = x\n[fr]\n"
	                              "404.heading = x\n404.title =\nno text\n404.text = \xff\n",
	                              &problems, &texts),
	                 ERR_INVALID);
	assert_string_equal(problems.data,
	                    "PAGES_FILE: line 1: a text needs a line [language] above it\n"
	                    "PAGES_FILE: line 2: is not a language: write [fr] or [pt-BR]\n"
	                    "PAGES_FILE: line 3: is not a language: write [fr] or [pt-BR]\n"
	                    "PAGES_FILE: line 6: unknown key \"404.heading\"\n"
	                    "PAGES_FILE: line 7: the text of 404.title must have 1 to 500 bytes\n"
	                    "PAGES_FILE: line 8: is neither [language] nor key = text\n"
	                    "PAGES_FILE: line 9: the text of 404.text must be valid UTF-8\n");
	strbuf_clear(&problems);
	strbuf_init(&problems, 1000);
	assert_int_equal(page_texts_read("/nonexistent", &problems, &texts), ERR_INVALID);
	assert_string_equal(problems.data,
	                    "PAGES_FILE: cannot be read: No such file or directory\n");
	strbuf_clear(&problems);
}

TEST_MAIN()
