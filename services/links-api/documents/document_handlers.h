/*
 * HTTP handlers for /openapi.json, /docs with its files and the runbook, and /problems/{kind}. They
 * never block. ctx is the struct request. Not thread-safe: one thread at a time per exchange.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_DOCUMENTS_DOCUMENT_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_DOCUMENTS_DOCUMENT_HANDLERS_H

#include "lib/http/http_server.h"

enum http_progress document_handlers_description(void *ctx, struct http_exchange *x);
enum http_progress document_handlers_reader(void *ctx, struct http_exchange *x);
enum http_progress document_handlers_file(void *ctx, struct http_exchange *x);
enum http_progress document_handlers_problem(void *ctx, struct http_exchange *x);
enum http_progress document_handlers_runbook(void *ctx, struct http_exchange *x);

#endif
