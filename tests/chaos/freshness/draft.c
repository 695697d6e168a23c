#include "tests/chaos/freshness/draft.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/base/timestamp.h"
#include "lib/json/json.h"

#define HOST "https://t.example/"
#define BODY_SIZE 1024
#define PATH_SIZE 64
#define URL_SIZE 96
#define SLUG_MEMBER_SIZE (HISTORY_SLUG_SIZE + 16)
/* Behind a slug that was changed; the one before it is an alias then. */
#define RENAMED "-x"

/* The texts of a request, which must live until its answer. */
struct request_texts {
	char path[PATH_SIZE];
	char body[BODY_SIZE];
};

static const char *method_of(enum history_act act)
{
	switch (act) {
	case HISTORY_LOOK:
		return "GET";
	case HISTORY_DELETE:
		return "DELETE";
	case HISTORY_CREATE:
	case HISTORY_RESTORE:
		return "POST";
	default:
		return "PATCH";
	}
}

static void write_path(const struct draft *d, enum history_act act, bool is_anonymous,
                       char out[static PATH_SIZE])
{
	if (act == HISTORY_CREATE)
		snprintf(out, PATH_SIZE, is_anonymous ? "/api/links/public" : "/api/links");
	else
		snprintf(out, PATH_SIZE, "/api/links/%" PRId64 "%s", d->id,
		         act == HISTORY_RESTORE ? "/restore" : "");
}

/* How a link leads to its destination. */
enum form { PLAIN, RULE, SPLIT, LOCKED };

static enum form form_of(const struct draft *d, enum history_act act, uint32_t destination)
{
	static const enum form forms[] = { PLAIN, RULE, SPLIT, RULE, PLAIN, LOCKED, SPLIT };
	return act == HISTORY_CREATE
	               ? PLAIN
	               : forms[(d->link + destination) % (sizeof(forms) / sizeof(forms[0]))];
}

/* The members of a link that say how it leads to url. */
static void write_form(enum form form, const char *url, uint32_t destination,
                       char out[static BODY_SIZE / 2])
{
	const size_t size = BODY_SIZE / 2;
	if (form == RULE)
		snprintf(out, size,
		         "\"original_url\":\"" HOST "never/%" PRIu32
		         "\",\"rules\":[{\"name\":\"all\",\"when\":{},\"then\":\"redirect\","
		         "\"url\":\"%s\"}],\"split\":null,\"password\":null",
		         destination, url);
	else if (form == SPLIT)
		snprintf(out, size,
		         "\"original_url\":\"" HOST "never/%" PRIu32
		         "\",\"rules\":[],\"split\":{\"variants\":["
		         "{\"name\":\"a\",\"url\":\"%s\",\"weight\":%" PRIu32
		         "},{\"name\":\"b\",\"url\":\"%s\",\"weight\":1}]},\"password\":null",
		         destination, url, destination % 1000 + 1, url);
	else
		snprintf(out, size,
		         "\"original_url\":\"%s\",\"rules\":[],\"split\":null,\"password\":%s", url,
		         form == LOCKED ? "\"a secret\"" : "null");
}

/* One change in five gives the link its other name. Readers go on with the first one. */
static void write_slug(const struct draft *d, uint32_t destination,
                       char out[static SLUG_MEMBER_SIZE])
{
	size_t len = strlen(d->slug), more = strlen(RENAMED);
	bool is_renamed = len > more && strcmp(d->slug + len - more, RENAMED) == 0;
	out[0] = '\0';
	if (destination % 5 == 0)
		snprintf(out, SLUG_MEMBER_SIZE, ",\"slug\":\"%.*s%s\"",
		         (int)(is_renamed ? len - more : len), d->slug, is_renamed ? "" : RENAMED);
}

static void write_body(const struct draft *d, enum history_act act, int64_t expires_us,
                       uint32_t destination, char out[static BODY_SIZE])
{
	char expires[TIMESTAMP_TEXT_SIZE + 2] = "null", url[URL_SIZE], form[BODY_SIZE / 2],
					   slug[SLUG_MEMBER_SIZE];
	snprintf(url, sizeof(url), HOST "%" PRIu32 "/%" PRIu32, d->link, destination);
	write_form(form_of(d, act, destination), url, destination, form);
	write_slug(d, destination, slug);
	if (expires_us != 0) {
		char text[TIMESTAMP_TEXT_SIZE];
		timestamp_format_ms(expires_us, text);
		snprintf(expires, sizeof(expires), "\"%s\"", text);
	}
	if (act == HISTORY_CREATE && d->slug[0] != '\0')
		snprintf(out, BODY_SIZE, "{\"original_url\":\"%s\",\"slug\":\"%s\"}", url, d->slug);
	else if (act == HISTORY_CREATE)
		snprintf(out, BODY_SIZE, "{\"original_url\":\"%s\"}", url);
	else
		snprintf(out, BODY_SIZE, "{%s%s,\"expires_at\":%s,\"state\":\"%s\"}", form, slug,
		         expires, act == HISTORY_DISABLE ? "disabled" : "active");
}

static bool writes_destination(enum history_act act)
{
	return act != HISTORY_DELETE && act != HISTORY_RESTORE && act != HISTORY_LOOK;
}

/* Takes over the link of an answer; returns false if the answer has none. */
static bool read_link(const struct api_client_answer *answer, struct draft *d)
{
	char reason[JSON_REASON_SIZE];
	struct json *root = NULL;
	if (json_parse(answer->body, answer->body_len, &root, reason) != OK)
		return false;
	const struct json *link = json_get(root, "link");
	bool is_there = link != NULL;
	if (is_there) {
		const char *url = json_text(json_get(link, "original_url"), NULL);
		const char *number = strrchr(url, '/');
		d->id = json_int(json_get(link, "id"));
		d->version = json_int(json_get(link, "version"));
		d->destination = number ? (uint32_t)strtoul(number + 1, NULL, 10) : 0;
		snprintf(d->slug, sizeof(d->slug), "%s", json_text(json_get(link, "slug"), NULL));
		/* expires_at decides whether the link has expired. */
		bool is_disabled =
			strcmp(json_text(json_get(link, "state"), NULL), "disabled") == 0;
		d->state = is_disabled ? DRAFT_DISABLED : DRAFT_ACTIVE;
	}
	json_free(root);
	return is_there;
}

static void set_in_doubt(struct draft *d, enum history_act act)
{
	/* Without an answer, the id of a new link is unknown. */
	if (act == HISTORY_CREATE)
		d->state = DRAFT_NONE;
	else if (act != HISTORY_LOOK)
		d->in_doubt = act;
	d->is_in_doubt = true;
}

static void take_success(struct draft *d, enum history_act act,
                         const struct api_client_answer *answer)
{
	if (act == HISTORY_DELETE) {
		d->state = DRAFT_DELETED;
		d->version++;
	} else if (!read_link(answer, d)) {
		fprintf(stderr, "freshness_load: links-api answered %u without a link: %s\n",
		        answer->status, answer->body);
		abort();
	}
	d->is_in_doubt = false;
}

/* A LOOK at a deleted link is answered 404. */
static void take_absence(struct draft *d)
{
	if (d->state != DRAFT_DELETED && d->in_doubt == HISTORY_DELETE)
		d->version++;
	d->state = DRAFT_DELETED;
	d->is_in_doubt = false;
}

static enum history_outcome take_answer(struct draft *d, enum history_act act,
                                        const struct api_client_answer *answer)
{
	if (act == HISTORY_LOOK && answer->status == 404) {
		take_absence(d);
		return HISTORY_ACKED;
	}
	if (answer->status >= 200 && answer->status < 300) {
		take_success(d, act, answer);
		return HISTORY_ACKED;
	}
	set_in_doubt(d, act);
	return answer->status < 500 || act == HISTORY_LOOK ? HISTORY_REFUSED : HISTORY_UNKNOWN;
}

static int64_t wall_minus_steady_us(void)
{
	return clock_now_us(clock_system()) - clock_steady_us(clock_system());
}

/* A record holds everything that is in force after it, also what the change did not touch. */
static void describe(const struct draft *d, enum history_act act, enum history_outcome outcome,
                     int64_t expires_us, uint32_t destination,
                     const struct api_client_answer *answer, struct history_change *out)
{
	*out = (struct history_change){
		.begin_us = answer->begin_us,
		.end_us = answer->end_us,
		.expires_us = expires_us,
		.link = d->link,
		.destination = destination,
		.version = outcome == HISTORY_ACKED ? (uint32_t)d->version : 0,
		.status = (uint16_t)answer->status,
		.act = (uint8_t)act,
		.outcome = (uint8_t)outcome,
		.is_deleted = d->state == DRAFT_DELETED,
	};
	memcpy(out->slug, d->slug, sizeof(out->slug));
}

bool draft_change(struct draft *d, struct api_client *client, enum history_act act,
                  bool is_anonymous, int64_t life_us, struct history_change *out)
{
	struct request_texts texts;
	struct api_client_answer answer;
	int64_t offset_us = wall_minus_steady_us();
	int64_t at_us =
		(clock_now_us(clock_system()) + life_us) / CLOCK_US_PER_MS * CLOCK_US_PER_MS;
	bool writes = writes_destination(act);
	uint32_t destination = writes ? d->drawn + 1 : d->destination;
	write_path(d, act, is_anonymous, texts.path);
	write_body(d, act, act == HISTORY_EXPIRE ? at_us : 0, destination, texts.body);
	const struct api_client_request request = {
		.method = method_of(act),
		.path = texts.path,
		.body = writes ? texts.body : NULL,
		.if_match = act == HISTORY_CREATE || act == HISTORY_LOOK ? 0 : d->version,
		.is_anonymous = is_anonymous,
	};
	enum api_client_outcome sent = api_client_call(client, &request, &answer);
	if (sent == API_CLIENT_NOT_SENT)
		return false;
	d->drawn = destination > d->drawn ? destination : d->drawn;
	int64_t expires_us =
		writes ? (act == HISTORY_EXPIRE ? at_us - offset_us : 0) : d->expires_us;
	enum history_outcome outcome = act == HISTORY_LOOK ? HISTORY_REFUSED : HISTORY_UNKNOWN;
	if (sent == API_CLIENT_ANSWERED)
		outcome = take_answer(d, act, &answer);
	else
		set_in_doubt(d, act);
	if (act == HISTORY_LOOK)
		destination = d->destination;
	if (outcome == HISTORY_ACKED)
		d->expires_us = expires_us;
	describe(d, act, outcome, expires_us, destination, &answer, out);
	out->is_locked = writes && form_of(d, act, destination) == LOCKED;
	return true;
}
