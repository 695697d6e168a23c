/*
 * One thread at a time. Streams the visits of a link as CSV or NDJSON. Each chunk is one page,
 * which is read from PostgreSQL after the client has received the previous chunk. A slow client
 * therefore blocks neither a PostgreSQL connection nor a worker, no transaction stays open, and
 * memory holds one chunk.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_VISIT_EXPORT_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_VISIT_EXPORT_H

#include "lib/http/http_server.h"
#include "services/links-api/http/request.h"
#include "services/links-api/statistics/visit_page.h"

struct visit_export;

/*
 * is_csv: CSV, otherwise NDJSON. Borrows the exchange of r. Copies question with its filter.
 * question->limit applies to the whole export, 0 = no limit. ERR_LIMIT: too many exports are
 * running (export_limiter.h).
 */
enum err visit_export_new(const struct request *r, bool is_csv,
                          const struct visit_page_query *question,
                          struct visit_export **out) MUST_CHECK;
/* export: a struct visit_export, or NULL. */
void visit_export_free(void *export);

/* Appends the next chunk to out. *is_last: no chunk follows. Errors of pg_conn_query. */
enum err visit_export_next_chunk(struct visit_export *export, struct strbuf *out,
                                 bool *is_last) MUST_CHECK;

/*
 * The same as a callback for http_exchange_set_body_reader. It fails too if the client reads too
 * slowly (export_limiter.h). export: a struct visit_export.
 */
enum http_chunk visit_export_body_reader(void *export, struct strbuf *out);

#endif
