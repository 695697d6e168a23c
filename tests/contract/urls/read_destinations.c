/*
 * Reads a JSON string from each line of its input as a destination and writes a JSON object for it.
 * The object is {refused: "reason"}, or {url, host, port, path, query, fragment} with path, query
 * and fragment as in url.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/json/json.h"
#include "services/links-api/destinations/destination.h"

#define ANSWER_BYTES_MAX 65536

static void set_part(struct json *answer, const char *name, const struct destination *d,
                     size_t begin, size_t end)
{
	char *part = mem_text_n(d->url + begin, end - begin);
	json_set_text(answer, name, part);
	free(part);
}

static struct json *read_destination(const char *text, size_t len)
{
	struct destination d;
	const char *reason = NULL;
	struct json *answer = json_new_object();
	/* Without the NUL, so that AddressSanitizer sees the first byte read too far. */
	char *exact = mem_copy(text, len);
	if (destination_parse(exact, len, &d, &reason) != OK) {
		json_set_text(answer, "refused", reason);
	} else {
		json_set_text(answer, "url", d.url);
		json_set_text(answer, "host", d.host.text);
		json_set_int(answer, "port", d.port);
		set_part(answer, "path", &d, d.path, d.query);
		set_part(answer, "query", &d, d.query, d.fragment);
		set_part(answer, "fragment", &d, d.fragment, strlen(d.url));
	}
	free(exact);
	return answer;
}

static struct json *read_line(const char *line, size_t len)
{
	struct json *text = NULL;
	char reason[JSON_REASON_SIZE];
	struct json *answer;
	if (json_parse(line, len, &text, reason) != OK || json_type(text) != JSON_TEXT) {
		answer = json_new_object();
		json_set_text(answer, "refused", "is not a JSON string");
	} else {
		size_t text_len;
		const char *bytes = json_text(text, &text_len);
		answer = read_destination(bytes, text_len);
	}
	json_free(text);
	return answer;
}

int main(void)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	while ((len = getline(&line, &room, stdin)) > 0) {
		struct strbuf out;
		struct json *answer = read_line(line, (size_t)len - (line[len - 1] == '\n'));
		strbuf_init(&out, ANSWER_BYTES_MAX);
		json_write(answer, &out);
		puts(out.data);
		strbuf_clear(&out);
		json_free(answer);
	}
	free(line);
	return 0;
}
