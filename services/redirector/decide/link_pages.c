#include "services/redirector/decide/link_pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/timestamp.h"
#include "lib/links/slug.h"

static void begin(struct page *page, const struct page_site *site, struct http_exchange *x)
{
	page_begin(page, site, page_language(site, x));
}

static void add_paragraph(struct page *page, const char *key)
{
	page_add(page, "<p>");
	page_add_text(page, key);
	page_add(page, "</p>\n");
}

static void add_button(struct page *page, const char *url, const char *class, const char *key)
{
	page_add(page, "<a class=\"");
	page_add(page, class);
	page_add(page, "\" href=\"");
	page_add_escaped(page, url);
	page_add(page, "\">");
	page_add_text(page, key);
	page_add(page, "</a>\n");
}

enum http_progress link_pages_respond_app(const struct page_site *site, struct http_exchange *x,
                                          const char *url, const char *fallback_url)
{
	struct page page;
	begin(&page, site, x);
	page_add(&page, "<meta http-equiv=\"refresh\" content=\"0; url=");
	page_add_escaped(&page, url);
	page_add(&page, "\">\n");
	page_begin_body(&page, HTTP_PAGE_PHONE, "app", NULL, 0);
	add_paragraph(&page, "app.text");
	add_button(&page, url, "button", "app.open");
	add_button(&page, fallback_url, "button second", "app.browser");
	page_end(&page, PAGE_NO_REPORT);
	return page_respond(&page, x, 200, PAGE_PLAIN);
}

/* property and content of Open Graph; content "": nothing. */
static void add_property(struct page *page, const char *property, const char *content)
{
	if (content[0] == '\0')
		return;
	page_add(page, "<meta property=\"");
	page_add(page, property);
	page_add(page, "\" content=\"");
	page_add_escaped(page, content);
	page_add(page, "\">\n");
}

enum http_progress link_pages_respond_card(const struct page_site *site, struct http_exchange *x,
                                           const struct link_pages_card *card)
{
	struct page page;
	bool has_title = card->title[0] != '\0';
	begin(&page, site, x);
	add_property(&page, "og:type", "website");
	add_property(&page, "og:title", card->title);
	add_property(&page, "og:description", card->description);
	add_property(&page, "og:image", card->image_url);
	if (card->image_url[0] != '\0')
		page_add(&page, "<meta name=\"twitter:card\" content=\"summary_large_image\">\n");
	page_begin_body(&page, HTTP_PAGE_LINK, "start", has_title ? card->title : NULL, 0);
	page_add(&page, "<p>");
	page_add_escaped(&page, card->description);
	page_add(&page, "</p>\n");
	add_button(&page, card->url, "button", "preview.follow");
	page_end(&page, PAGE_NO_REPORT);
	return page_respond(&page, x, 200, PAGE_PLAIN);
}

static void add_fact(struct page *page, const char *key, const char *value)
{
	page_add(page, "<dt>");
	page_add_text(page, key);
	page_add(page, "</dt><dd>");
	page_add_escaped(page, value);
	page_add(page, "</dd>\n");
}

static void add_time(struct page *page, const char *key, int64_t time_us)
{
	char text[TIMESTAMP_TEXT_SIZE], month[32] = "", shown[96];
	timestamp_format_ms(time_us, text);
	/* "2026-11-20T08:00:00.123Z" */
	const char *months = page_texts_get(page->site->texts, page->language, "months");
	for (long n = strtol(text + 5, NULL, 10); n > 1 && strchr(months, ','); n--)
		months = strchr(months, ',') + 1;
	snprintf(month, sizeof(month), "%.*s", (int)strcspn(months, ","), months);
	snprintf(shown, sizeof(shown), "%ld%s %.4s, %.5s UTC", strtol(text + 8, NULL, 10), month,
	         text, text + 11);
	add_fact(page, key, shown);
}

static void add_destination(struct page *page, const char *host, bool is_locked)
{
	page_add(page, "<dt>");
	page_add_text(page, "preview.host");
	page_add(page, "</dt><dd>");
	if (host[0] != '\0')
		page_add_escaped(page, host);
	else
		page_add_text(page, is_locked ? "preview.locked" : "preview.depends");
	page_add(page, "</dd>\n");
}

/* "https://sho.rt/abc" */
static void write_short_url(const struct page_site *site, const char *slug, char *out, size_t size)
{
	size_t len = strlen(site->public_base_url);
	while (len > 0 && site->public_base_url[len - 1] == '/')
		len--;
	snprintf(out, size, "%.*s/%s", (int)len, site->public_base_url, slug);
}

enum http_progress link_pages_respond_preview(const struct page_site *site, struct http_exchange *x,
                                              const struct link_pages_preview *preview)
{
	/* A host has at most 253 bytes. */
	char url[512], path[SLUG_SIZE + 1];
	write_short_url(site, preview->slug, url, sizeof(url));
	snprintf(path, sizeof(path), "/%s", preview->slug);
	struct page page;
	begin(&page, site, x);
	page_begin_body(&page, HTTP_PAGE_EYE, "preview", NULL, 0);
	add_paragraph(&page, "preview.text");
	page_add(&page, "<dl>\n");
	add_destination(&page, preview->host, preview->is_locked);
	if (preview->title[0] != '\0')
		add_fact(&page, "preview.name", preview->title);
	add_fact(&page, "preview.link", strstr(url, "://") + 3);
	add_time(&page, "preview.created", preview->created_at_us);
	if (preview->expires_at_us != 0)
		add_time(&page, "preview.ends", preview->expires_at_us);
	page_add(&page, "</dl>\n");
	add_button(&page, path, "button", "preview.follow");
	page_end(&page, url);
	return page_respond(&page, x, 200, PAGE_PLAIN);
}
