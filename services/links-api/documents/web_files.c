#include "services/links-api/documents/web_files.h"

#include <string.h>

#include "lib/http/http_accept.h"

#define INDEX "index.html"
#define HASHED_FOLDER "assets/" /* Vite writes a hash of the content into the names of its files */

static const char *const codings[WEB_CODINGS] = { NULL, "gzip", "br" };

/* "*" stands for codings that are not listed (RFC 9110, 12.5.3). A malformed weight counts as 0. */
static int weight_of(const char *accept, const char *coding)
{
	int any = 0;
	struct http_accept_item item;
	while (http_accept_next(&accept, &item)) {
		int weight = item.weight == HTTP_ACCEPT_WEIGHT_INVALID ? 0 : item.weight;
		if (http_accept_is(&item, coding))
			return weight;
		if (http_accept_is(&item, "*"))
			any = weight;
	}
	return any;
}

static enum web_coding choose_coding(const struct web_file *file, const char *accept)
{
	enum web_coding chosen = WEB_IDENTITY;
	int best = 0;
	for (enum web_coding i = WEB_BROTLI; accept && i > WEB_IDENTITY; i--) {
		int weight = file->forms[i].bytes ? weight_of(accept, codings[i]) : 0;
		if (weight > best) {
			best = weight;
			chosen = i;
		}
	}
	return chosen;
}

static const struct web_file *find(const struct web_files *files, const char *path)
{
	for (size_t i = 0; i < files->count; i++)
		if (strcmp(files->files[i].path, path) == 0)
			return &files->files[i];
	return NULL;
}

static bool is_page(const char *path)
{
	const char *slash = strrchr(path, '/');
	return strchr(slash ? slash : path, '.') == NULL;
}

enum err web_files_find(const struct web_files *files, const char *path,
                        const char *accept_encoding, struct web_response *out)
{
	const struct web_file *file = find(files, is_page(path) ? INDEX : path);
	if (!file)
		return ERR_NOT_FOUND;
	enum web_coding coding = choose_coding(file, accept_encoding);
	const struct web_form *form = &file->forms[coding];
	*out = (struct web_response){
		.document = { file->path, file->content_type, form->bytes, form->len, form->etag },
		.coding = codings[coding],
		.is_immutable = strncmp(file->path, HASHED_FOLDER, strlen(HASHED_FOLDER)) == 0,
	};
	return OK;
}
