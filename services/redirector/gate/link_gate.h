/*
 * Safe from any thread. What a visitor passes before a link with a password or a limit of visits
 * leads on: whether a password is needed and known, and whether a visit is left. decide/ asks, and
 * writes every answer but those about passwords.
 *
 *   GET                       with the link's cookie: on; else the page that asks, 200
 *   GET, no text/html wanted  with Authorization: Basic, any user and the password: on; else 401
 *   POST of the page's form   right: 303 to the link itself and the cookie; wrong: the page, 403
 *
 * A form is never answered with the redirect of the link, whose status may let a browser send the
 * password on. The password of a program is in Authorization, because clients that follow redirects
 * take that one off at another host, and no header of our own.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_GATE_LINK_GATE_H
#define WAYMARK_SERVICES_REDIRECTOR_GATE_LINK_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/metrics.h"
#include "lib/http/http_server.h"
#include "lib/postgres/pg_pool.h"

struct pages;
struct link_gate;

/* Of PostgreSQL that the gate may hold at the same time, beside those of others. */
#define LINK_GATE_CONNECTIONS 2
/* Of a form with a password. */
#define LINK_GATE_FORM_BYTES_MAX 1024

/* Everything is borrowed. */
struct link_gate_config {
	struct pg_pool *postgres;
	const struct pages *pages;
	const struct clock *clock;
	struct metrics *metrics;
};

struct link_gate *link_gate_new(const struct link_gate_config *config);
/* After the HTTP server has stopped, before the stores end. NULL is allowed. */
void link_gate_free(struct link_gate *gate);

/*
 * An http_body_limit: the small body of a POST that may be a form with a password is read before
 * the handler runs. All other bodies with a meaning stay unread. ctx is not used.
 */
size_t link_gate_body_limit(void *ctx, struct http_exchange *x);

/* --- password --- */

enum link_gate_result {
	LINK_GATE_OPEN,     /* go on; only for GET and HEAD */
	LINK_GATE_ANSWERED, /* the response is complete */
	LINK_GATE_PENDING,  /* x is suspended, and on_done is called later */
};

/* Called in another thread, with one of the first two. It resumes x when the response is complete. */
typedef void (*link_gate_password_callback)(void *ctx, struct http_exchange *x,
                                            enum link_gate_result result);

/* password_hash is copied. Call it for every method. Never blocks. */
enum link_gate_result link_gate_check_password(struct link_gate *gate, struct http_exchange *x,
                                               int64_t link_id, const char *password_hash,
                                               link_gate_password_callback on_done, void *ctx);

/* --- limit --- */

enum link_gate_visit {
	LINK_GATE_VISIT_TAKEN,
	LINK_GATE_VISIT_USED_UP,
	/* PostgreSQL could not say: 503. */
	LINK_GATE_VISIT_UNKNOWN,
	LINK_GATE_VISITS,
};

typedef void (*link_gate_visit_callback)(void *ctx, struct http_exchange *x,
                                         enum link_gate_visit visit);

/*
 * Takes a visit of a link with a limit. spends false: a bot, which takes none and learns whether one
 * is left. Suspends x and never blocks. on_done is called once, perhaps before it returns, perhaps
 * in another thread; it resumes x when the response is complete.
 */
void link_gate_take_visit(struct link_gate *gate, struct http_exchange *x, int64_t link_id,
                          bool spends, link_gate_visit_callback on_done, void *ctx);

#endif
