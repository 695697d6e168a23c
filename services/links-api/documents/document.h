/*
 * Pure. Texts about the API that are part of the program: its description, made from docs/api/openapi.yaml when the program is
 * built, the page that shows it, and what docs/api/problems.md says of each kind of problem.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_DOCUMENTS_DOCUMENT_H
#define WAYMARK_SERVICES_LINKS_API_DOCUMENTS_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

struct document {
	const char *name; /* "openapi.json" */
	const char *content_type;
	const char *bytes; /* live as long as the program */
	size_t len;
	const char *etag; /* with its quotes */
};

/* ERR_NOT_FOUND: there is none of that name, or the program was built without it. */
enum err document_find(const char *name, struct document *out) MUST_CHECK;

/* The part of problems.md about a kind ("validation"). ERR_NOT_FOUND: there is no such kind. */
enum err document_find_problem(const char *kind, struct document *out) MUST_CHECK;

/* Whether an If-None-Match header names the document as it is: "*", or a list with its tag. NULL: there is no header. */
bool document_is_known(const struct document *document, const char *if_none_match);

#endif
