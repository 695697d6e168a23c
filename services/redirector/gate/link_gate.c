#include "services/redirector/gate/link_gate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/mem.h"
#include "lib/base/password.h"
#include "lib/base/strbuf.h"
#include "lib/http/http_query.h"
#include "services/redirector/gate/basic_auth.h"
#include "services/redirector/gate/link_cookie.h"
#include "services/redirector/gate/password_checker.h"
#include "services/redirector/gate/visit_taker.h"
#include "services/redirector/pages/page.h"
#include "services/redirector/pages/pages.h"

#define FORM_TYPE "application/x-www-form-urlencoded"
#define RETRY_AFTER_BUSY "5"
/* A user name and a password. */
#define CREDENTIALS_SIZE 512

struct link_gate {
	const struct pages *pages;
	const struct clock *clock;
	bool is_secure;
	struct password_checker *passwords;
	struct visit_taker *visits;
};

struct link_gate *link_gate_new(const struct link_gate_config *config)
{
	struct link_gate *gate = mem_zero(sizeof(*gate));
	const char *base_url = pages_site(config->pages)->public_base_url;
	gate->pages = config->pages;
	gate->clock = config->clock;
	gate->is_secure = strncasecmp(base_url, "https:", strlen("https:")) == 0;
	gate->passwords = password_checker_new(config->clock, config->metrics);
	gate->visits = visit_taker_new(config->postgres, config->clock, config->metrics);
	return gate;
}

void link_gate_free(struct link_gate *gate)
{
	if (!gate)
		return;
	password_checker_free(gate->passwords);
	visit_taker_free(gate->visits);
	free(gate);
}

void link_gate_take_visit(struct link_gate *gate, struct http_exchange *x, int64_t link_id,
                          bool spends, link_gate_visit_callback on_done, void *ctx)
{
	http_exchange_suspend(x);
	visit_taker_take(gate->visits, link_id, spends, x, on_done, ctx);
}

/* --- asking --- */

/* Why there is an answer about the password, and what it says. */
enum reason { ASKED, WRONG, LIMITED, BUSY };

static const struct {
	unsigned page_status, program_status;
	/* A text of the page; NULL: none beside the question. */
	const char *text;
	const char *detail;
} answers[] = {
	[ASKED] = { 200, 401, NULL,
	            "This link has a password. Send it with Authorization: Basic, under any user." },
	[WRONG] = { 403, 401, "password.wrong", "The password of this link is another one." },
	[LIMITED] = { 429, 429, "password.limited",
	              "Too many wrong passwords came from this network. Retry after the time in "
	              "Retry-After." },
	[BUSY] = { 503, 503, "password.busy",
	           "Too many passwords are being checked. Retry after the time in Retry-After." },
};

static void respond_with_page(struct link_gate *gate, struct http_exchange *x, enum reason reason)
{
	struct page page;
	char link[PAGE_SHORT_URL_SIZE];
	const struct page_site *site = pages_site(gate->pages);
	page_begin(&page, site, page_language(site, x));
	page_begin_body(&page, HTTP_PAGE_LOCK, "password", NULL, 0);
	page_add(&page, "<p>");
	page_add_text(&page, "password.text");
	page_add(&page, "</p>\n");
	if (answers[reason].text) {
		page_add(&page, "<p class=\"wrong\" role=\"alert\" id=\"wrong\">");
		page_add_text(&page, answers[reason].text);
		page_add(&page, "</p>\n");
	}
	page_add(&page, "<form method=\"post\">\n<label for=\"password\">");
	page_add_text(&page, "password.label");
	page_add(&page, "</label>\n<input id=\"password\" name=\"password\" type=\"password\" "
	                "autocomplete=\"current-password\" maxlength=\"72\" required autofocus");
	page_add(&page, answers[reason].text ? " aria-describedby=\"wrong\"" : "");
	page_add(&page, reason == WRONG ? " aria-invalid=\"true\"" : "");
	page_add(&page, ">\n<button>");
	page_add_text(&page, "password.button");
	page_add(&page, "</button>\n</form>\n");
	page_asked_link(site, x, link);
	page_end(&page, link);
	(void)page_respond(&page, x, answers[reason].page_status, PAGE_WITH_FORM);
}

static void respond(struct link_gate *gate, struct http_exchange *x, int64_t link_id,
                    enum reason reason)
{
	char wait[24];
	struct client_ip visitor = http_exchange_client_ip(x);
	if (reason == LIMITED) {
		snprintf(wait, sizeof(wait), "%lld",
		         (long long)password_checker_wait_s(gate->passwords, &visitor, link_id));
		enum err err = http_exchange_add_header(x, "Retry-After", wait);
		(void)err; /* digits */
	}
	if (reason == BUSY)
		http_exchange_add_fixed_header(x, "Retry-After", RETRY_AFTER_BUSY);
	if (pages_prefers_html(http_exchange_joined_header(x, "Accept"))) {
		respond_with_page(gate, x, reason);
		return;
	}
	if (answers[reason].program_status == 401)
		http_exchange_add_fixed_header(x, "WWW-Authenticate",
		                               "Basic realm=\"link\", charset=\"UTF-8\"");
	(void)pages_respond_error(gate->pages, x, answers[reason].program_status,
	                          answers[reason].detail);
}

/* --- letting in --- */

/* 303: the browser asks for the link again, without the form. */
static void respond_let_in(struct link_gate *gate, struct http_exchange *x, int64_t link_id,
                           const char *password_hash)
{
	char value[LINK_COOKIE_SIZE];
	const char *rest, *query = http_exchange_query(x);
	struct strbuf location, cookie;
	int64_t now_s = clock_now_us(gate->clock) / CLOCK_US_PER_S;
	strbuf_init(&location, 8192);
	strbuf_init(&cookie, 8192);
	link_cookie_add_path(&location, http_exchange_path(x), &rest);
	link_cookie_make(link_id, password_hash, now_s + LINK_COOKIE_MAX_AGE_S, value);
	strbuf_add_format(
		&cookie, LINK_COOKIE_NAME "=%s; Max-Age=%d; Path=%s; HttpOnly; SameSite=Lax%s",
		value, LINK_COOKIE_MAX_AGE_S, location.data, gate->is_secure ? "; Secure" : "");
	strbuf_add_text(&location, rest);
	strbuf_add_text(&location, query[0] ? "?" : "");
	strbuf_add_text(&location, query);
	http_exchange_set_status(x, 303);
	http_exchange_add_fixed_header(x, "Cache-Control", "no-store");
	if (strbuf_status(&location) != OK || strbuf_status(&cookie) != OK ||
	    http_exchange_add_header(x, "Location", location.data) != OK ||
	    http_exchange_add_header(x, "Set-Cookie", cookie.data) != OK)
		(void)pages_respond_error(gate->pages, x, 400, "The address is not valid.");
	strbuf_clear(&location);
	strbuf_clear(&cookie);
}

/* --- checking --- */

struct visitor {
	struct link_gate *gate;
	struct http_exchange *x;
	int64_t link_id;
	char password_hash[PASSWORD_HASH_SIZE];
	link_gate_password_callback on_done;
	void *ctx;
};

static void on_verdict(void *ctx, enum password_verdict verdict)
{
	static const enum reason reasons[] = {
		[PASSWORD_WRONG] = WRONG, [PASSWORD_LIMITED] = LIMITED, [PASSWORD_BUSY] = BUSY
	};
	struct visitor *v = ctx;
	enum link_gate_result result = LINK_GATE_ANSWERED;
	if (verdict != PASSWORD_RIGHT)
		respond(v->gate, v->x, v->link_id, reasons[verdict]);
	else if (http_exchange_method(v->x) == HTTP_POST)
		respond_let_in(v->gate, v->x, v->link_id, v->password_hash);
	else
		result = LINK_GATE_OPEN;
	v->on_done(v->ctx, v->x, result);
	free(v);
}

static enum link_gate_result start_check(const struct visitor *visitor, const char *password)
{
	struct http_exchange *x = visitor->x;
	struct visitor *kept = mem_zero(sizeof(*kept));
	*kept = *visitor;
	http_exchange_suspend(x);
	password_checker_start(visitor->gate->passwords,
	                       &(struct password_try){ .visitor = http_exchange_client_ip(x),
	                                               .link_id = visitor->link_id,
	                                               .hash = kept->password_hash,
	                                               .password = password },
	                       on_verdict, kept);
	return LINK_GATE_PENDING;
}

static bool has_cookie(struct link_gate *gate, struct http_exchange *x, int64_t link_id,
                       const char *password_hash)
{
	const char *value;
	return http_exchange_cookie(x, LINK_COOKIE_NAME, &value) == OK &&
	       link_cookie_is_valid(value, link_id, password_hash,
	                            clock_now_us(gate->clock) / CLOCK_US_PER_S);
}

static bool is_form(const struct http_exchange *x)
{
	const char *type = http_exchange_header(x, "Content-Type");
	size_t len = strlen(FORM_TYPE);
	return type && strncasecmp(type, FORM_TYPE, len) == 0 && strchr("; \t", type[len]);
}

/*
 * Whether the form is one of our page: browsers say when another site sends it, which could spend
 * the wrong tries of the visitor's network.
 */
static bool read_form(struct http_exchange *x, char password[static PASSWORD_SIZE])
{
	size_t len;
	const char *body = http_exchange_body(x, &len);
	const char *site = http_exchange_header(x, "Sec-Fetch-Site");
	bool is_ours = !site || strcmp(site, "same-origin") == 0;
	return is_ours && is_form(x) && len > 0 && strlen(body) == len &&
	       http_query_value(body, "password", password, PASSWORD_SIZE) == OK;
}

size_t link_gate_body_limit(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	enum http_method method = http_exchange_method(x);
	if (method == HTTP_GET || method == HTTP_HEAD)
		return SIZE_MAX;
	return method == HTTP_POST && is_form(x) ? LINK_GATE_FORM_BYTES_MAX : 0;
}

static enum link_gate_result check_form(const struct visitor *visitor)
{
	char password[PASSWORD_SIZE];
	enum link_gate_result result = LINK_GATE_ANSWERED;
	if (read_form(visitor->x, password))
		result = start_check(visitor, password);
	else
		respond(visitor->gate, visitor->x, visitor->link_id, WRONG);
	explicit_bzero(password, sizeof(password));
	return result;
}

static enum link_gate_result check_header(const struct visitor *visitor, const char *header)
{
	char credentials[CREDENTIALS_SIZE];
	enum link_gate_result result = LINK_GATE_ANSWERED;
	if (basic_auth_password(header, credentials, sizeof(credentials)) == OK)
		result = start_check(visitor, credentials);
	else
		respond(visitor->gate, visitor->x, visitor->link_id, ASKED);
	explicit_bzero(credentials, sizeof(credentials));
	return result;
}

enum link_gate_result link_gate_check_password(struct link_gate *gate, struct http_exchange *x,
                                               int64_t link_id, const char *password_hash,
                                               link_gate_password_callback on_done, void *ctx)
{
	struct visitor visitor = {
		.gate = gate, .x = x, .link_id = link_id, .on_done = on_done, .ctx = ctx
	};
	enum http_method method = http_exchange_method(x);
	snprintf(visitor.password_hash, sizeof(visitor.password_hash), "%s", password_hash);
	if (method == HTTP_POST)
		return check_form(&visitor);
	if (method != HTTP_GET && method != HTTP_HEAD) {
		http_exchange_add_fixed_header(x, "Allow", "GET, HEAD, POST");
		(void)pages_respond_error(gate->pages, x, 405,
		                          "A link with a password supports GET, HEAD, and POST "
		                          "of the password.");
		return LINK_GATE_ANSWERED;
	}
	if (has_cookie(gate, x, link_id, password_hash))
		return LINK_GATE_OPEN;
	const char *header = http_exchange_header(x, "Authorization");
	if (header)
		return check_header(&visitor, header);
	respond(gate, x, link_id, ASKED);
	return LINK_GATE_ANSWERED;
}
