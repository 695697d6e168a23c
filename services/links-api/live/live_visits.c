#include "services/links-api/live/live_visits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/number.h"
#include "lib/clicks/visit_event.h"
#include "lib/json/json.h"

#define JSON_BYTES_MAX ((size_t)16 << 10)
/* That a position may name. */
#define PARTITION_MAX 99

struct live_visits {
	struct live_visit *ring[LIVE_VISITS_MAX];
	uint64_t first, end;
	size_t bytes;
	/* After the last visit that was dropped; 0 = none was. */
	int64_t dropped_below[LIVE_VISITS_PARTITIONS_MAX];
};

struct live_visits *live_visits_new(void)
{
	return mem_zero(sizeof(struct live_visits));
}

void live_visits_free(struct live_visits *visits)
{
	if (!visits)
		return;
	live_visits_clear(visits);
	free(visits);
}

static size_t size_of(const struct live_visit *visit)
{
	return sizeof(*visit) + visit->len + (visit->json ? strlen(visit->json) : 0);
}

static void drop_first(struct live_visits *visits)
{
	struct live_visit *visit = live_visits_get(visits, visits->first++);
	visits->bytes -= size_of(visit);
	visits->dropped_below[visit->partition] = visit->offset + 1;
	free(visit->json);
	free(visit);
}

void live_visits_clear(struct live_visits *visits)
{
	while (visits->first < visits->end)
		drop_first(visits);
	memset(visits->dropped_below, 0, sizeof(visits->dropped_below));
}

int64_t live_visits_add(struct live_visits *visits, int32_t partition, int64_t offset,
                        const void *event, size_t len)
{
	struct visit_event decoded;
	bool is_valid = event && partition >= 0 && partition < LIVE_VISITS_PARTITIONS_MAX &&
	                len <= VISIT_EVENT_BYTES_MAX &&
	                visit_event_decode(event, len, &decoded) == OK;
	if (!is_valid || decoded.workspace_id <= 0)
		return 0;
	struct live_visit *visit = mem_zero(sizeof(*visit) + len);
	*visit = (struct live_visit){ .workspace_id = decoded.workspace_id,
		                      .partition = partition,
		                      .offset = offset,
		                      .len = len };
	memcpy(visit->event, event, len);
	while (visits->end - visits->first >= LIVE_VISITS_MAX ||
	       (visits->end > visits->first && visits->bytes > LIVE_VISITS_BYTES_MAX))
		drop_first(visits);
	visits->ring[visits->end++ % LIVE_VISITS_MAX] = visit;
	visits->bytes += size_of(visit);
	return visit->workspace_id;
}

uint64_t live_visits_first(const struct live_visits *visits)
{
	return visits->first;
}

uint64_t live_visits_end(const struct live_visits *visits)
{
	return visits->end;
}

struct live_visit *live_visits_get(const struct live_visits *visits, uint64_t number)
{
	return visits->ring[number % LIVE_VISITS_MAX];
}

/* As in GET /api/links/{id}/visits, and the id of the link. */
static struct json *visit_json(const struct visit_event *event)
{
	const struct {
		const char *name, *text;
	} texts[] = {
		{ "slug", event->slug },
		{ "country", event->country },
		{ "region", event->region },
		{ "city", event->city },
		{ "referrer_host", event->referrer_host },
		{ "referrer_source", event->referrer_source },
		{ "browser", event->browser },
		{ "browser_version", event->browser_version },
		{ "os", event->os },
		{ "os_version", event->os_version },
		{ "device", event->device },
		{ "language", event->language },
		{ "utm_source", event->utm_source },
		{ "utm_medium", event->utm_medium },
		{ "utm_campaign", event->utm_campaign },
		{ "bot_reason", event->bot_reason },
		{ "rule", event->rule },
		{ "variant", event->variant },
		{ "alias", event->alias },
	};
	char event_id[ENTROPY_UUID_TEXT_SIZE];
	entropy_uuid_format(event->event_id, event_id);
	struct json *object = json_new_object();
	json_set_text(object, "event_id", event_id);
	json_set_time(object, "occurred_at", event->occurred_at_us);
	json_set_int(object, "link_id", event->link_id);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		json_set_text(object, texts[i].name, texts[i].text);
	json_set_bool(object, "is_bot", event->is_bot);
	json_set_bool(object, "is_unique", event->is_unique);
	json_set_bool(object, "is_scan", event->scan[0] != '\0');
	json_set_int(object, "status", event->status);
	json_set_real(object, "latency_ms", event->latency_us / 1000.0);
	return object;
}

const char *live_visits_json(struct live_visits *visits, struct live_visit *visit)
{
	struct visit_event event;
	if (visit->json)
		return visit->json;
	if (visit_event_decode(visit->event, visit->len, &event) != OK)
		return "{}"; /* it was valid when it was added */
	struct strbuf text;
	strbuf_init(&text, JSON_BYTES_MAX);
	struct json *object = visit_json(&event);
	json_write(object, &text);
	json_free(object);
	visit->json = mem_copy(text.data, text.len + 1);
	visits->bytes += text.len;
	strbuf_clear(&text);
	return visit->json;
}

bool live_visits_dropped(const struct live_visits *visits, int32_t partition, int64_t next)
{
	return visits->dropped_below[partition] > next;
}

/* --- positions --- */

void live_visits_clear_position(struct live_visits_position *position)
{
	for (size_t i = 0; i < LIVE_VISITS_PARTITIONS_MAX; i++)
		position->next[i] = -1;
}

void live_visits_add_position(const struct live_visits_position *position, struct strbuf *out)
{
	const char *separator = "";
	for (size_t i = 0; i < LIVE_VISITS_PARTITIONS_MAX; i++) {
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

enum err live_visits_parse_position(const char *text, struct live_visits_position *out)
{
	struct live_visits_position position;
	live_visits_clear_position(&position);
	for (bool is_last = false; !is_last;) {
		int64_t partition, next;
		is_last = strchr(text, ',') == NULL;
		enum err err = read_number(&text, ':', PARTITION_MAX, &partition);
		if (err == OK)
			err = read_number(&text, is_last ? '\0' : ',', INT64_MAX, &next);
		if (err != OK)
			return ERR_INVALID;
		if (partition < LIVE_VISITS_PARTITIONS_MAX)
			position.next[partition] = next;
	}
	*out = position;
	return OK;
}
