/*
 * The page with the form by which anybody reports a short link (lib/http/http_page.h), in English or
 * German. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_REPORTS_REPORT_PAGE_H
#define WAYMARK_SERVICES_LINKS_API_REPORTS_REPORT_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/strbuf.h"
#include "lib/http/http_page.h"

/* What a report may say; the CHECKs of abuse_reports are the same. */
#define REPORT_DETAILS_CHARS_MAX 2000
#define REPORT_LINK_BYTES_MAX 2048
#define REPORT_PAGE_BYTES_MAX ((size_t)64 * 1024)

enum report_language { REPORT_ENGLISH, REPORT_GERMAN, REPORT_FRENCH, REPORT_LANGUAGES };

enum report_notice {
	REPORT_NOTICE_NONE,
	REPORT_NOTICE_INVALID, /* some field, which marks name */
	REPORT_NOTICE_NO_LINK,
	REPORT_NOTICE_LIMITED,
	/* Instead of the form. */
	REPORT_NOTICE_RECEIVED,
};

/* Fields that are wrong. */
enum report_mark { REPORT_LINK = 1, REPORT_REASON = 2, REPORT_DETAILS = 4, REPORT_EMAIL = 8 };

struct report_page {
	enum report_language language;
	enum report_notice notice;
	/* enum report_mark */
	unsigned marks;
	/* What the fields show, any text; "" = empty. */
	const char *link, *reason, *details, *email;
	/* Who operates this service; "" = not named. */
	const char *operator_name;
	struct http_page_brand brand;
};

/* "phishing" …: the reasons of a report in their order; NULL: no more. */
const char *report_page_reason(size_t index);
bool report_page_is_reason(const char *name);

/* Of an Accept-Language header; NULL: none. */
enum report_language report_page_language(const char *accept_language);
const char *report_page_language_name(enum report_language language);

void report_page_write(const struct report_page *page, struct strbuf *out);

/* The Content-Security-Policy of the page: its own style, its own form and the logo, nothing else. */
const char *report_page_policy(const struct report_page *page);

#endif
