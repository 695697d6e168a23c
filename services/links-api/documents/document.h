/*
 * Documents about the API that are embedded in the program: the OpenAPI description (generated from
 * docs/api/openapi.yaml), the page that displays it, docs/api/nql.md, docs/privacy.md, and the
 * sections of docs/api/problems.md and docs/runbook.md. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_DOCUMENTS_DOCUMENT_H
#define WAYMARK_SERVICES_LINKS_API_DOCUMENTS_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

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

/* ERR_NOT_FOUND: no such document, or the program was built without it. */
enum err document_find(const char *name, struct document *out) MUST_CHECK;

/* Finds the section of problems.md about a kind ("validation"). ERR_NOT_FOUND: no such kind. */
enum err document_find_problem(const char *kind, struct document *out) MUST_CHECK;

/* Finds the section of runbook.md with a title ("WaymarkNotReady"). ERR_NOT_FOUND: none. */
enum err document_find_runbook(const char *title, struct document *out) MUST_CHECK;

/* True if If-None-Match is "*" or lists the document's ETag. NULL: the header is absent. */
bool document_matches_etag(const struct document *document, const char *if_none_match);

#endif
