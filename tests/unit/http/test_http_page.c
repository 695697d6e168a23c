#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/digest.h"
#include "lib/http/http_font.h"
#include "lib/http/http_page.h"
#include "tests/support/test.h"

static void base64(const uint8_t *bytes, size_t len, char *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (size_t i = 0; i < len; i += 3) {
		unsigned group = (unsigned)bytes[i] << 16;
		group |= i + 1 < len ? (unsigned)bytes[i + 1] << 8 : 0;
		group |= i + 2 < len ? bytes[i + 2] : 0;
		*out++ = digits[group >> 18];
		*out++ = digits[group >> 12 & 63];
		*out++ = (char)(i + 1 < len ? digits[group >> 6 & 63] : '=');
		*out++ = (char)(i + 2 < len ? digits[group & 63] : '=');
	}
	*out = '\0';
}

static void render(void **state, struct strbuf *html)
{
	(void)state;
	strbuf_init(html, 16384);
	http_page_begin(html, "en");
	http_page_begin_body(
		html, &(struct http_page_brand){ .name = "<b>\"A\"", .logo_path = "", .home = "/" },
		HTTP_PAGE_LINK);
	http_page_end_main(html);
	http_page_end(html);
	assert_int_equal(strbuf_status(html), OK);
}

TEST_CASE(the_hash_is_that_of_the_style)
{
	struct strbuf html;
	uint8_t digest[DIGEST_SIZE];
	char hash[64];
	render(state, &html);
	const char *style = strstr(html.data, "<style>") + strlen("<style>");
	digest_sha256(style, (size_t)(strstr(style, "</style>") - style), digest);
	base64(digest, sizeof(digest), hash);
	if (strcmp(HTTP_PAGE_STYLE_HASH + strlen("sha256-"), hash) != 0)
		fail_msg("HTTP_PAGE_STYLE_HASH must be sha256-%s", hash);
	/* Nothing else is loaded. */
	const char *url = strstr(html.data, "url(");
	assert_non_null(url);
	assert_memory_equal(url, "url(" HTTP_FONT_PATH ")", strlen("url(" HTTP_FONT_PATH ")"));
	assert_null(strstr(url + 1, "url("));
	strbuf_clear(&html);
}

/* The relative luminance of a colour of the page (WCAG 2.2), found by its name. */
static double luminance(const char *colours, const char *name)
{
	const double shares[] = { 0.2126, 0.7152, 0.0722 };
	const char *value = strstr(colours, name);
	assert_non_null(value);
	unsigned long rgb = strtoul(value + strlen(name) + 2, NULL, 16); /* after ":#" */
	double sum = 0;
	for (int i = 0; i < 3; i++) {
		double c = (double)(rgb >> (16 - 8 * i) & 0xff) / 255;
		sum += shares[i] * (c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
	}
	return sum;
}

static void assert_contrast(const char *colours, const char *ink, const char *ground)
{
	double a = luminance(colours, ink), b = luminance(colours, ground);
	double ratio = a > b ? (a + 0.05) / (b + 0.05) : (b + 0.05) / (a + 0.05);
	if (ratio < 4.5)
		fail_msg("%s on %s has a contrast of %.2f", ink, ground, ratio);
}

TEST_CASE(has_enough_contrast_in_light_and_dark_mode)
{
	struct strbuf html;
	render(state, &html);
	const char *dark = strstr(html.data, "@media screen and (prefers-color-scheme:dark)");
	assert_non_null(dark);
	const char *const schemes[] = { strstr(html.data, ":root"), dark };
	const char *const pairs[][2] = {
		{ "--text", "--bg" },
		{ "--text", "--surface" },
		{ "--text-muted", "--bg" },
		{ "--text-muted", "--surface" },
		{ "--text-muted", "--surface-2" },
		{ "--accent-strong", "--surface" },
		{ "--accent-strong", "--accent-soft" },
		{ "--on-accent", "--accent" },
		{ "--on-accent", "--accent-strong" },
		{ "--danger", "--danger-soft" },
	};
	for (size_t s = 0; s < 2; s++)
		for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
			assert_contrast(schemes[s], pairs[i][0], pairs[i][1]);
	strbuf_clear(&html);
}

TEST_CASE(names_who_runs_the_site_at_the_top)
{
	struct strbuf html;
	render(state, &html);
	assert_non_null(strstr(html.data, "<a class=\"brand\" href=\"/\"><svg "));
	assert_non_null(strstr(html.data, "<span>&lt;b&gt;&quot;A&quot;</span></a></header>"));
	strbuf_clear(&html);
	strbuf_init(&html, 16384);
	http_page_begin_body(
		&html,
		&(struct http_page_brand){ .name = "A", .logo_path = "/assets/logo-1", .home = "" },
		HTTP_PAGE_CHECK);
	assert_non_null(strstr(
		html.data,
		"<span class=\"brand\"><img src=\"/assets/logo-1\" alt=\"\" height=\"32\"><span>A<"));
	strbuf_clear(&html);
}

TEST_MAIN()
