/* URLs from anywhere. The parts lie in the text in order, and put together they are the text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/strbuf.h"
#include "lib/base/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add(struct strbuf *out, const char *before, struct url_part part, const char *after)
{
	if (!part.text)
		return;
	strbuf_add_text(out, before);
	strbuf_add(out, part.text, part.len);
	strbuf_add_text(out, after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_text_n((const char *)data, size);
	struct url url;
	if (url_split(text, size, &url) == OK) {
		struct strbuf again;
		strbuf_init(&again, size + 16);
		add(&again, "", url.scheme, "://");
		add(&again, "", url.user, "@");
		add(&again, "", url.host, "");
		add(&again, ":", url.port, "");
		add(&again, "", url.path, "");
		add(&again, "?", url.query, "");
		add(&again, "#", url.fragment, "");
		if (again.len != size || memcmp(again.data, text, size) != 0)
			abort();
		strbuf_clear(&again);
	}
	free(text);
	return 0;
}
