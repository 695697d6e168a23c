#include "services/redirector/decide/app_link.h"

#include <string.h>
#include <strings.h>

bool app_link_is_app(const char *url)
{
	return strncasecmp(url, "https:", 6) != 0 && strncasecmp(url, "http:", 5) != 0;
}

static void add_encoded(struct strbuf *out, const char *text)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789-._~";
	for (; *text; text++) {
		if (strchr(plain, *text))
			strbuf_add_char(out, *text);
		else
			strbuf_add_format(out, "%%%02X", (unsigned)(unsigned char)*text);
	}
}

void app_link_add_intent(const char *url, const char *fallback_url, struct strbuf *out)
{
	size_t scheme = strcspn(url, ":");
	strbuf_add_text(out, "intent");
	strbuf_add_text(out, url + scheme);
	strbuf_add_text(out, "#Intent;scheme=");
	strbuf_add(out, url, scheme);
	strbuf_add_text(out, ";S.browser_fallback_url=");
	add_encoded(out, fallback_url);
	strbuf_add_text(out, ";end");
}
