#include "services/redirector/decide/link_preview.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/worker_pool.h"
#include "lib/links/host_policy.h"
#include "lib/links/link_extras.h"
#include "services/redirector/decide/link_pages.h"

#define WAITING_MAX 64

struct link_preview {
	struct pg_pool *postgres;
	const struct pages *pages;
	struct worker_pool *worker;
};

struct question {
	struct link_preview *preview;
	struct http_exchange *x;
	int64_t link_id;
	int64_t expires_at_us;
	bool has_password;
	char slug[SLUG_SIZE];
	char host[HOST_POLICY_NAME_MAX + 1];
};

struct link_preview *link_preview_new(struct pg_pool *postgres, const struct pages *pages)
{
	struct link_preview *preview = mem_zero(sizeof(*preview));
	preview->postgres = postgres;
	preview->pages = pages;
	preview->worker = worker_pool_new("preview", LINK_PREVIEW_CONNECTIONS, WAITING_MAX);
	return preview;
}

void link_preview_free(struct link_preview *preview)
{
	if (!preview)
		return;
	worker_pool_free(preview->worker);
	free(preview);
}

static enum err read_link(struct pg_pool *postgres, int64_t id, char title[static LINK_TITLE_SIZE],
                          int64_t *created_at_us)
{
	struct pg_conn *conn = NULL;
	struct pg_result *rows = NULL;
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	enum err err = pg_pool_acquire(postgres, &conn);
	if (err == OK)
		err = pg_conn_query(conn, "SELECT title, created_at FROM links WHERE id = $1",
		                    &params, &rows);
	if (err == OK && pg_result_count(rows) == 0)
		err = ERR_NOT_FOUND;
	if (err == OK) {
		snprintf(title, LINK_TITLE_SIZE, "%s", pg_result_text(rows, 0, 0));
		*created_at_us = pg_result_time(rows, 0, 1);
	}
	pg_result_free(rows);
	pg_pool_release(postgres, conn);
	return err;
}

static enum http_progress respond_unavailable(const struct pages *pages, struct http_exchange *x)
{
	http_exchange_add_fixed_header(x, "Retry-After", "2");
	return pages_respond_error(
		pages, x, 503,
		"The link cannot be described at the moment. Retry after the time in Retry-After.");
}

static void answer(void *arg)
{
	struct question *q = arg;
	const struct pages *pages = q->preview->pages;
	char title[LINK_TITLE_SIZE];
	struct link_pages_preview shown = { .slug = q->slug,
		                            .host = q->host,
		                            .is_locked = q->has_password,
		                            .title = title,
		                            .expires_at_us = q->expires_at_us };
	enum err err = read_link(q->preview->postgres, q->link_id, title, &shown.created_at_us);
	if (q->has_password)
		shown.title = "";
	if (err == OK)
		link_pages_respond_preview(pages_site(pages), q->x, &shown);
	else if (err == ERR_NOT_FOUND)
		pages_respond_error(pages, q->x, 404, "This link does not exist.");
	else
		respond_unavailable(pages, q->x);
	http_exchange_resume(q->x);
	free(q);
}

/* What the entry has that must not be shown. Extras that cannot be read hide everything. */
static unsigned features_of(const struct link_entry *entry)
{
	if (entry->extras_len == 0)
		return 0;
	struct Waymark__V1__LinkExtras *extras = link_extras_open(entry->extras, entry->extras_len);
	unsigned features = extras ? link_extras_features(extras) : LINK_FEATURE_PASSWORD;
	link_extras_free(extras);
	return features;
}

enum http_progress link_preview_respond(struct link_preview *preview, struct http_exchange *x,
                                        const struct link_entry *entry)
{
	struct question *q = mem_zero(sizeof(*q));
	const char *host;
	size_t len = link_url_host(entry->original_url, &host);
	unsigned features = features_of(entry);
	unsigned hides = LINK_FEATURE_PASSWORD | LINK_FEATURE_RULES | LINK_FEATURE_SPLIT;
	if (len < sizeof(q->host) && !(features & hides))
		memcpy(q->host, host, len);
	q->preview = preview;
	q->x = x;
	q->link_id = entry->id;
	q->expires_at_us = entry->expires_at_us;
	q->has_password = features & LINK_FEATURE_PASSWORD;
	snprintf(q->slug, sizeof(q->slug), "%s", entry->slug);
	http_exchange_suspend(x);
	if (worker_pool_submit(preview->worker, answer, q) == OK)
		return HTTP_PENDING;
	free(q);
	return respond_unavailable(preview->pages, x);
}
