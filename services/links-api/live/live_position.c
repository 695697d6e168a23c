#include "services/links-api/live/live_position.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/number.h"

#define PARTITION_MAX 99

void live_position_clear(struct live_position *position)
{
	for (size_t i = 0; i < LIVE_POSITION_PARTITIONS_MAX; i++)
		position->next[i] = -1;
}

void live_position_add_text(const struct live_position *position, struct strbuf *out)
{
	const char *separator = "";
	for (size_t i = 0; i < LIVE_POSITION_PARTITIONS_MAX; i++) {
		if (position->next[i] < 0)
			continue;
		strbuf_add_format(out, "%s%zu:%" PRId64, separator, i, position->next[i]);
		separator = ",";
	}
}

/* Reads digits up to the end character, and moves *text past it. */
static enum err read_number(const char **text, char end, int64_t max, int64_t *out)
{
	char digits[NUMBER_TEXT_SIZE];
	size_t len = strspn(*text, "0123456789");
	if (len == 0 || len >= sizeof(digits) || (*text)[len] != end)
		return ERR_INVALID;
	memcpy(digits, *text, len);
	digits[len] = '\0';
	*text += len + (end != '\0');
	return number_parse(digits, 0, max, out);
}

enum err live_position_parse(const char *text, struct live_position *out)
{
	struct live_position position;
	live_position_clear(&position);
	for (bool is_last = false; !is_last;) {
		int64_t partition, next;
		is_last = strchr(text, ',') == NULL;
		enum err err = read_number(&text, ':', PARTITION_MAX, &partition);
		if (err == OK)
			err = read_number(&text, is_last ? '\0' : ',', INT64_MAX, &next);
		if (err != OK)
			return ERR_INVALID;
		if (partition < LIVE_POSITION_PARTITIONS_MAX)
			position.next[partition] = next;
	}
	*out = position;
	return OK;
}
