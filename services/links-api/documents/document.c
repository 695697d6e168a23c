#include "services/links-api/documents/document.h"

#include <string.h>

/* Made by cmake/embed.py. */
#define DECLARE(name)                                                                                                  \
	extern const char document_data_##name[];                                                                      \
	extern const size_t document_data_##name##_size;                                                               \
	extern const char document_data_##name##_tag[];
DECLARE(openapi)
DECLARE(problems)
DECLARE(reader)
DECLARE(start)
DECLARE(style)
DECLARE(bundle)

struct part {
	const char *name, *content_type, *bytes;
	const size_t *len;
	const char *etag;
};

#define PART(name_, content_type_, symbol)                                                                             \
	{                                                                                                              \
		name_, content_type_, document_data_##symbol, &document_data_##symbol##_size,                          \
			document_data_##symbol##_tag                                                                   \
	}

static const struct part parts[] = {
	PART("openapi.json", "application/json", openapi),
	PART("reader", "text/html; charset=utf-8", reader),
	PART("start.js", "text/javascript; charset=utf-8", start),
	PART("swagger-ui.css", "text/css; charset=utf-8", style),
	PART("swagger-ui-bundle.js", "text/javascript; charset=utf-8", bundle),
};

enum err document_find(const char *name, struct document *out)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const struct part *part = &parts[i];
		if (strcmp(part->name, name) != 0 || *part->len == 0)
			continue;
		*out = (struct document){ part->name, part->content_type, part->bytes, *part->len, part->etag };
		return OK;
	}
	return ERR_NOT_FOUND;
}

/* Each kind is a heading of the second level. */
enum err document_find_problem(const char *kind, struct document *out)
{
	static const char heading[] = "\n## ";
	size_t kind_len = strlen(kind);
	const char *at = document_data_problems;
	while ((at = strstr(at, heading))) {
		const char *name = at + sizeof(heading) - 1;
		const char *end = strstr(name, heading);
		if (strcspn(name, "\n") == kind_len && memcmp(name, kind, kind_len) == 0) {
			size_t len = end ? (size_t)(end - at) : strlen(at + 1);
			*out = (struct document){ "problem", "text/plain; charset=utf-8", at + 1, len,
				                  document_data_problems_tag };
			return OK;
		}
		at = name;
	}
	return ERR_NOT_FOUND;
}

bool document_is_known(const struct document *document, const char *if_none_match)
{
	return if_none_match && (strcmp(if_none_match, "*") == 0 || strstr(if_none_match, document->etag));
}
