#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/strbuf.h"
#include "services/links-api/titles/page_title.h"
#include "tests/support/test.h"

/* expected: NULL = there is none. */
static void assert_title_of(const char *type, const char *html, size_t len, const char *expected)
{
	char title[LINK_TITLE_SIZE] = "";
	char *page = mem_copy(html, len); /* without a NUL, for the sanitizer */
	enum err err = page_title_read(type, page, len, title);
	free(page);
	assert_int_equal(err, expected ? OK : ERR_NOT_FOUND);
	if (expected)
		assert_string_equal(title, expected);
}

static void assert_title(const char *html, const char *expected)
{
	assert_title_of("text/html", html, strlen(html), expected);
}

TEST_CASE(finds_the_title_as_browsers_do)
{
	assert_title("<!doctype html><html><head><TITLE lang=de>Eins</Title >", "Eins");
	assert_title("<title>First</title><title>Second</title>", "First");
	assert_title("<title>a <b>bold</b> one</title>", "a <b>bold</b> one");
	assert_title("<title\ndata-x='>'>Quoted</title>", "Quoted");
	assert_title("<!-- <title>No</title> --><title>Yes</title>", "Yes");
	assert_title("<script>'<title>No</title>'</script><title>Yes</title>", "Yes");
	assert_title("<svg><title>No</title></svg><title>Yes</title>", "Yes");
	assert_title("<titles>No</titles><x title=No><title>Yes</title>", "Yes");
}

TEST_CASE(takes_og_title_if_there_is_no_other)
{
	static const char og[] = "<meta content=\"Of it\" property='og:title'>";
	assert_title("<meta property=og:title content=Alone />", "Alone");
	assert_title(
		"<meta property=og:title content=First><meta property=og:title content=Second>",
		"First");
	assert_title(og, "Of it");
	char both[128];
	snprintf(both, sizeof(both), "%s<title>Its own</title>", og);
	assert_title(both, "Its own");
	snprintf(both, sizeof(both), "%s<title> &nbsp; </title>", og);
	assert_title(both, "Of it");
}

TEST_CASE(has_none_where_a_page_has_none)
{
	assert_title("", NULL);
	assert_title("<", NULL);
	assert_title("<title>", NULL);
	assert_title("<title>cut o", NULL);
	assert_title("<title></title>", NULL);
	assert_title("<title>\n\t &#0;</title", "&#0;");
	assert_title("<p>text<title", NULL);
	assert_title("<body><title>No</title>", NULL);
	assert_title("<!-- <title>No</title>", NULL);
	assert_title("<meta property=og:title>", NULL);
	assert_title("<meta property=\"og:title\" content=\"", NULL);
	assert_title("<meta =\"", NULL);
}

TEST_CASE(reads_html_only)
{
	static const char html[] = "<title>T</title>";
	assert_title_of("Text/HTML;charset=UTF-8", html, sizeof(html) - 1, "T");
	assert_title_of("application/xhtml+xml", html, sizeof(html) - 1, "T");
	assert_title_of("text/plain", html, sizeof(html) - 1, NULL);
	assert_title_of("text/htmlx", html, sizeof(html) - 1, NULL);
	assert_title_of("image/svg+xml", html, sizeof(html) - 1, NULL);
	assert_title_of("", html, sizeof(html) - 1, NULL);
}

TEST_CASE(decodes_entities)
{
	assert_title("<title>AT&amp;T &lt;b&gt; &quot;&apos;&#39;</title>", "AT&T <b> \"''");
	assert_title("<title>Gr&uuml;&szlig;e &ndash; 5&nbsp;&euro; &#x1F600;&#8230;</title>",
	             "Grüße – 5 € 😀…");
	assert_title("<title>a & b &unknown; &amp;lt; &#xd800; &#x110000; &; &#; &#x;</title>",
	             "a & b &unknown; &lt; &#xd800; &#x110000; &; &#; &#x;");
	assert_title("<meta property=og:title content='&lt;script&gt;'>", "<script>");
}

TEST_CASE(drops_what_is_invisible)
{
	assert_title("<title>\n  one\r\n\ttwo&nbsp;&#x2028;three  </title>", "one two three");
	assert_title("<title>a\x01"
	             "b&#7;c\x7f"
	             "d&#x85;e</title>",
	             "abcde");
	assert_title("<title>\u202egnp.\u2066x\u200b\ufeff</title>", "gnp.x");
}

TEST_CASE(knows_encodings)
{
	static const char latin[] = "<title>Gr\xfc\xdf"
				    "e \x80</title>";
	static const char declared[] = "<meta charset='ISO-8859-1'><title>Gr\xfc\xdf"
				       "e \x80</title>";
	static const char old[] =
		"<meta http-equiv=Content-Type content=\"text/html; charset=koi8-r\">"
		"<title>\xed\xc9\xd2</title>";
	static const char marked[] = "\xef\xbb\xbf<title>\xc3\xbc</title>";
	assert_title(latin, "Grüße €");
	assert_title(declared, "Grüße €");
	assert_title(old, "Мир");
	assert_title_of("text/html; charset=\"Latin1\"", latin, sizeof(latin) - 1, "Grüße €");
	assert_title_of("text/html; charset=latin1", marked, sizeof(marked) - 1, "ü");
	assert_title_of("text/html; charset=Shift_JIS", "<title>\x93\xfa\x96\x7b</title>", 19,
	                "日本");
}

TEST_CASE(has_none_in_an_encoding_that_is_wrong_or_unknown)
{
	static const char latin[] = "<title>Gr\xfc\xdf"
				    "e</title>";
	assert_title_of("text/html; charset=utf-8", latin, sizeof(latin) - 1, NULL);
	assert_title_of("text/html; charset=x-none", latin, sizeof(latin) - 1, NULL);
	assert_title_of("text/html; charset=utf-16le", latin, sizeof(latin) - 1, NULL);
	assert_title_of("text/html; charset=ibm-37", latin, sizeof(latin) - 1, NULL);
	assert_title_of("text/html; charset=../../etc/passwd", "<title>a</title>", 16, "a");
}

TEST_CASE(cuts_a_long_title_at_a_character)
{
	struct strbuf html, expected;
	strbuf_init(&html, 4096);
	strbuf_init(&expected, 4096);
	strbuf_add_text(&html, "<title>");
	for (size_t i = 0; i < LINK_TITLE_CHARS_MAX; i++) {
		strbuf_add_text(&html, "😀");
		strbuf_add_text(&expected, "😀");
	}
	strbuf_add_text(&html, "😀 and more</title>");
	assert_title(html.data, expected.data);
	strbuf_clear(&html);
	strbuf_clear(&expected);
}

/* Each of them would take minutes if the reader began anew at each tag. */
TEST_CASE(takes_no_longer_for_a_page_that_is_made_to_take_long)
{
	static const char *const parts[] = { "<",      "<title ",  "<!--", "<meta a=",
		                             "<a b='", "<script>", "&#",   "</title" };
	static char html[65536];
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t len = 0;
		while (len + strlen(parts[i]) < sizeof(html)) {
			memcpy(html + len, parts[i], strlen(parts[i]));
			len += strlen(parts[i]);
		}
		assert_title_of("text/html", html, len, NULL);
	}
}

TEST_MAIN()
