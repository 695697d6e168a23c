#include "tests/support/click_batch.h"

#include <stdlib.h>

#include "lib/clicks/redirect_batch.h"

void click_batch_encode(const struct redirect_event *clicks, size_t count, struct strbuf *out)
{
	static const uint8_t instance[ENTROPY_UUID_SIZE] = { 1 };
	struct redirect_batch_writer writer;
	uint8_t bytes[REDIRECT_EVENT_BYTES_MAX];
	size_t len;
	redirect_batch_init(&writer);
	for (size_t i = 0; i < count; i++)
		redirect_batch_add(&writer, i + 1, bytes, redirect_event_encode(&clicks[i], bytes));
	void *value = redirect_batch_end(&writer, instance, &len);
	strbuf_add(out, value, len);
	free(value);
	redirect_batch_clear(&writer);
}
