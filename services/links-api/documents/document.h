/*
 * Documents about the API that are embedded in the program: the OpenAPI description (generated from
 * docs/api/openapi.yaml), the page that displays it, docs/api/nql.md, docs/privacy.md, and the
 * sections of docs/api/problems.md and docs/runbook.md. The endpoints are in http/handlers.h. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_DOCUMENTS_DOCUMENT_H
#define WAYMARK_SERVICES_LINKS_API_DOCUMENTS_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>

struct document {
	/* "openapi.json". */
	const char *name;
	const char *content_type;
	/* Static storage. */
	const char *bytes;
	size_t len;
	/* Including the quotes. */
	const char *etag;
};

/* True if If-None-Match is "*" or lists the document's ETag. NULL: the header is absent. */
bool document_matches_etag(const struct document *document, const char *if_none_match);

#endif
