/*
 * One thread at a time, as their exchange; they never block. /openapi.json, /docs and what belongs to it, and
 * /problems/{kind}. ctx is the struct request.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_DOCUMENTS_DOCUMENT_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_DOCUMENTS_DOCUMENT_HANDLERS_H

#include "lib/net/http_server.h"

enum http_progress document_handlers_description(void *ctx, struct http_exchange *x);
enum http_progress document_handlers_reader(void *ctx, struct http_exchange *x);
enum http_progress document_handlers_file(void *ctx, struct http_exchange *x);
enum http_progress document_handlers_problem(void *ctx, struct http_exchange *x);

#endif
