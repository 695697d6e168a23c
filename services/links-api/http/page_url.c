#include "services/links-api/http/page_url.h"

#include <stdio.h>
#include <string.h>

void page_url(const struct config *config, const char *page, const char *fragment,
              char out[static PAGE_URL_SIZE])
{
	bool is_own = config->dashboard_url[0] != '\0';
	const char *base = is_own ? config->dashboard_url : config->public_base_url;
	size_t len = strlen(base);
	while (len > 0 && base[len - 1] == '/')
		len--;
	snprintf(out, PAGE_URL_SIZE, "%.*s%s/%s#%s", (int)len, base, is_own ? "" : "/app", page,
	         fragment);
}
