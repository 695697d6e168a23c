/* Reports of abuse: anybody sends one, by a form or as JSON. It names an existing link. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/array.h"
#include "lib/base/mail_address.h"
#include "lib/base/mem.h"
#include "lib/http/http_font.h"
#include "lib/http/http_logo.h"
#include "lib/http/http_query.h"
#include "lib/links/link_store.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/destinations/public_base.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/authentication.h"
#include "services/links-api/reports/report_page.h"

/* --- what a report says --- */

#define PER_HOUR 10
/* Open ones of one link; more say nothing new and are not kept. */
#define OPEN_OF_LINK_MAX 20
#define NAME_SIZE 16

struct report {
	char link[REPORT_LINK_BYTES_MAX + 1];
	char reason[NAME_SIZE];
	char details[4 * REPORT_DETAILS_CHARS_MAX + 1];
	char email[MAIL_ADDRESS_SIZE];
	struct http_problem_fields wrong;
	struct link_entry entry;
};

static const struct field {
	const char *name;
	size_t at, size;
	enum report_mark mark;
} fields[] = {
	{ "link", offsetof(struct report, link), sizeof(((struct report *)0)->link), REPORT_LINK },
	{ "reason", offsetof(struct report, reason), NAME_SIZE, REPORT_REASON },
	{ "details", offsetof(struct report, details), sizeof(((struct report *)0)->details),
	  REPORT_DETAILS },
	{ "email", offsetof(struct report, email), MAIL_ADDRESS_SIZE, REPORT_EMAIL },
};

static void refuse(struct report *report, const struct field *field, const char *code,
                   const char *detail)
{
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	member_pointer(field->name, pointer);
	http_problem_add_field(&report->wrong, pointer, code, "%s", detail);
}

static void set(struct report *report, const struct field *field, const char *text)
{
	size_t len = strlen(text);
	if (len < field->size)
		memcpy((char *)report + field->at, text, len + 1);
	else
		refuse(report, field, "too-long", "is too long");
}

/* Other fields of a form are ignored: browsers and their add-ons may send some. */
static void read_form(struct request *r, struct report *report)
{
	size_t len;
	const char *bytes = http_exchange_body(r->exchange, &len);
	char *body = mem_text_n(bytes, len), *value = mem_zero(sizeof(report->details));
	const char *at = body;
	char name[NAME_SIZE];
	for (enum err err = OK; err != ERR_NOT_FOUND;) {
		err = http_query_next(&at, name, sizeof(name), value, sizeof(report->details));
		for (size_t i = 0; err != ERR_NOT_FOUND && i < ARRAY_SIZE(fields); i++) {
			if (strcmp(name, fields[i].name) != 0)
				continue;
			if (err == OK)
				set(report, &fields[i], value);
			else
				refuse(report, &fields[i], err == ERR_LIMIT ? "too-long" : "utf8",
				       err == ERR_LIMIT ? "is too long" : "is not valid UTF-8");
		}
	}
	free(value);
	free(body);
}

/* False: the response is complete. */
static bool read_json(struct request *r, struct report *report)
{
	static const char *const names[] = { "link", "reason", "details", "email" };
	struct json *body = request_body_read(r);
	if (!body)
		return false;
	member_reject_unknown(body, names, ARRAY_SIZE(names), &report->wrong);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		bool is_required = fields[i].mark == REPORT_LINK || fields[i].mark == REPORT_REASON;
		const char *text =
			member_text_of(body, fields[i].name, is_required, &report->wrong);
		if (text)
			set(report, &fields[i], text);
	}
	json_free(body);
	return true;
}

static bool is_wrong(const struct report *report, const struct field *field)
{
	for (size_t i = 0; i < report->wrong.count; i++)
		if (strcmp(report->wrong.field[i].pointer + 1, field->name) == 0)
			return true;
	return false;
}

static void check(struct report *report)
{
	if (!is_wrong(report, &fields[0]) && report->link[0] == '\0')
		refuse(report, &fields[0], "required", "is required");
	if (!is_wrong(report, &fields[1]) && !report_page_is_reason(report->reason))
		refuse(report, &fields[1], "choice",
		       "must be phishing, malware, spam, illegal or other");
	member_is_text(report->details, REPORT_DETAILS_CHARS_MAX, "/details", &report->wrong);
	if (!is_wrong(report, &fields[3]) && report->email[0] != '\0' &&
	    !mail_address_is_valid(report->email))
		refuse(report, &fields[3], "email", "must be an e-mail address");
}

/* --- its link --- */

/* What follows one of our hosts in a short link; NULL: the text is no such link. */
static const char *skip_own_host(const struct public_base *base, const char *text)
{
	struct destination_host host;
	const char *reason = NULL, *scheme_end = strstr(text, "://");
	const char *begin = scheme_end ? scheme_end + strlen("://") : text;
	size_t len = strcspn(begin, ":/?#");
	const char *slash = strchr(begin, '/');
	bool is_own = slash && destination_host_parse(begin, len, &host, &reason) == OK &&
	              public_base_owns(base, &host, base->port);
	return is_own ? slash + 1 : NULL;
}

/*
 * The slug of a short link as people copy it, with or without scheme and query, of the address of its
 * preview ("abc+"), or alone.
 */
static bool find_slug(const struct public_base *base, const char *text, struct slug_path *out)
{
	char path[REPORT_LINK_BYTES_MAX + 2];
	const char *rest = public_base_skip(base, text);
	if (!rest)
		rest = skip_own_host(base, text);
	if (!rest && !strchr(text, '/'))
		rest = text;
	if (!rest)
		return false;
	size_t len = strcspn(rest, "?#");
	if (len > 0 && rest[len - 1] == '+')
		len--;
	snprintf(path, sizeof(path), "/%.*s", (int)len, rest);
	return slug_of_path(path, out);
}

/* ERR_NOT_FOUND: there is no such link, or it is deleted. */
static enum err find_link(const struct request *r, struct pg_conn *conn, struct report *report)
{
	struct slug_path path;
	char exact[SLUG_KEY_SIZE];
	if (!find_slug(r->api->base, report->link, &path))
		return ERR_NOT_FOUND;
	enum err err = link_store_find_entry(conn, path.key, &report->entry);
	if (err == ERR_CONFLICT) {
		slug_key(path.slug, true, exact);
		err = link_store_find_entry(conn, exact, &report->entry);
	}
	bool is_there = err == OK && report->entry.state != LINK_STATE_DELETED &&
	                link_answers_to(&report->entry, path.slug);
	return err == ERR_CONFLICT || (err == OK && !is_there) ? ERR_NOT_FOUND : err;
}

static enum err store(struct pg_conn *conn, const struct report *report)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, report->entry.id);
	pg_params_text(&params, report->entry.slug);
	pg_params_text(&params, report->reason);
	pg_params_text(&params, report->details);
	pg_params_text(&params, report->email);
	pg_params_int(&params, OPEN_OF_LINK_MAX);
	return pg_conn_query(
		conn,
		"INSERT INTO abuse_reports (link_id, slug, reason, details, email) "
		"SELECT $1, $2, $3, $4, NULLIF($5, '') WHERE (SELECT count(*) FROM abuse_reports "
		"WHERE link_id = $1 AND closed_at IS NULL) < $6",
		&params, NULL);
}

/* --- sending one --- */

static bool is_form(const struct request *r)
{
	static const char type[] = "application/x-www-form-urlencoded";
	const char *sent = http_exchange_header(r->exchange, "Content-Type");
	return sent && strncasecmp(sent, type, strlen(type)) == 0;
}

static enum http_progress send_page(struct request *r, unsigned status, const struct report *report,
                                    enum report_notice notice)
{
	struct http_exchange *x = r->exchange;
	const char *name = r->api->config->operator_name;
	struct report_page page = {
		.language = report_page_language(http_exchange_joined_header(x, "Accept-Language")),
		.notice = notice,
		.link = report->link,
		.reason = report->reason,
		.details = report->details,
		.email = report->email,
		.operator_name = name,
		.brand = { .name = name[0] ? name : strstr(r->api->base->url, "://") + 3,
		           .logo_path = http_logo_path(r->api->logo),
		           .home = r->api->base->url },
	};
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		page.marks |= is_wrong(report, &fields[i]) ? fields[i].mark : 0U;
	page.marks |= notice == REPORT_NOTICE_NO_LINK ? REPORT_LINK : 0U;
	struct strbuf html;
	strbuf_init(&html, REPORT_PAGE_BYTES_MAX);
	report_page_write(&page, &html);
	bool is_whole = strbuf_status(&html) == OK;
	if (is_whole) {
		http_exchange_add_fixed_header(x, "Vary", "Accept-Language");
		http_exchange_add_fixed_header(x, "Content-Language",
		                               report_page_language_name(page.language));
		http_exchange_add_fixed_header(x, "Content-Security-Policy",
		                               report_page_policy(&page));
		/* The form's own POST must show where it comes from. */
		http_exchange_add_fixed_header(x, "Referrer-Policy", "same-origin");
		http_exchange_add_fixed_header(x, "X-Robots-Tag", "noindex, nofollow");
		http_exchange_set_status(x, status);
		http_exchange_set_body(x, "text/html; charset=utf-8", html.data, html.len);
	}
	strbuf_clear(&html);
	return is_whole ? HTTP_COMPLETE : response_failure(r, ERR_INTERNAL);
}

static enum http_progress send_limited(struct request *r, const struct report *report,
                                       const struct rate_limit_rule *rule, int64_t reset_s)
{
	if (!is_form(r))
		return response_rate_limited(r, rule, reset_s);
	response_add_retry_after(r, reset_s);
	return send_page(r, 429, report, REPORT_NOTICE_LIMITED);
}

static enum http_progress send_invalid(struct request *r, const struct report *report)
{
	return is_form(r) ? send_page(r, 400, report, REPORT_NOTICE_INVALID)
	                  : response_invalid_fields(r, &report->wrong);
}

static enum http_progress send_no_link(struct request *r, const struct report *report)
{
	return is_form(r) ? send_page(r, 404, report, REPORT_NOTICE_NO_LINK)
	                  : response_problem(r, 404, "link-not-found",
	                                     "This service has no such link.");
}

static enum http_progress receive(struct request *r, struct report *report)
{
	static const struct rate_limit_rule rule = {
		"reports", "Your network has reached its hourly limit of reports.", PER_HOUR, 3600
	};
	char network[CLIENT_IP_NETWORK_SIZE];
	struct rate_limit_state state;
	struct pg_conn *conn = NULL;
	if (is_form(r) && !authentication_is_same_origin(r))
		return HTTP_COMPLETE;
	if (is_form(r))
		read_form(r, report);
	else if (!read_json(r, report))
		return HTTP_COMPLETE;
	check(report);
	if (report->wrong.count > 0)
		return send_invalid(r, report);
	request_network(r, network);
	if (rate_limit_take(r->api->limits, &rule, network, 1, &state) == ERR_LIMIT)
		return send_limited(r, report, &rule, state.reset_s);
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err == OK)
		err = find_link(r, conn, report);
	if (err == OK)
		err = store(conn, report);
	pg_pool_release(r->api->pg, conn);
	if (err == ERR_NOT_FOUND)
		return send_no_link(r, report);
	if (err != OK)
		return response_failure(r, err);
	return is_form(r) ? send_page(r, 200, report, REPORT_NOTICE_RECEIVED)
	                  : response_no_content(r);
}

enum http_progress report_handlers_create(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct report *report = mem_zero(sizeof(*report));
	enum http_progress progress = receive(ctx, report);
	free(report);
	return progress;
}

enum http_progress report_handlers_form(void *ctx, struct http_exchange *x)
{
	struct report *report = mem_zero(sizeof(*report));
	/* A link that cannot be read is typed in again. */
	if (http_query_value(http_exchange_query(x), "link", report->link, sizeof(report->link)) !=
	    OK)
		report->link[0] = '\0';
	enum http_progress progress = send_page(ctx, 200, report, REPORT_NOTICE_NONE);
	free(report);
	return progress;
}

enum http_progress report_handlers_asset(void *ctx, struct http_exchange *x)
{
	struct request *r = ctx;
	bool is_there = http_logo_respond(r->api->logo, x) || http_font_respond(x);
	return is_there ? HTTP_COMPLETE : response_not_found(r);
}
