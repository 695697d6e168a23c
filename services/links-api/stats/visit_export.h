/*
 * One thread at a time. An export of a link's visits while it is being sent: each piece is a page of its own, asked for
 * when the client has taken the one before. So neither a connection to PostgreSQL nor a worker waits for a slow client,
 * and no transaction stays open; what memory holds is one piece.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATS_VISIT_EXPORT_H
#define WAYMARK_SERVICES_LINKS_API_STATS_VISIT_EXPORT_H

#include "lib/clicks/visit_page.h"
#include "lib/net/http_server.h"
#include "services/links-api/api.h"

enum visit_export_form { VISIT_EXPORT_CSV, VISIT_EXPORT_NDJSON };

struct visit_export;

/*
 * question is copied, filter as well; its limit is that of the whole export, 0 = none. ERR_LIMIT: too many exports are
 * under way (export_desk.h).
 */
enum err visit_export_new(const struct api *api, int64_t user_id, enum visit_export_form form,
                          const struct visit_page_question *question, struct visit_export **out) MUST_CHECK;
/* export is a struct visit_export; NULL may be freed. */
void visit_export_free(void *export);

/* The next piece; *is_last: there are no more behind it. Errors of pg_conn_query. */
enum err visit_export_next(struct visit_export *export, struct strbuf *out, bool *is_last) MUST_CHECK;

/* The same as an http_source; export is a struct visit_export. */
enum http_piece visit_export_source(void *export, struct strbuf *out);

#endif
