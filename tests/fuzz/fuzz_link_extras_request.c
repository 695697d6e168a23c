/*
 * Untrusted extras of a link as JSON. What is accepted keeps the bounds of link_extras.h, and what a
 * link shows of it can be sent back: the extras stay the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/links-api/links/link_extras_json.h"
#include "services/links-api/links/link_extras_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* link_zone.c asks PostgreSQL. */
static void fill_zones(Waymark__V1__LinkExtras *extras)
{
	for (size_t i = 0; extras && i < extras->n_zones; i++) {
		Waymark__V1__LinkZone *zone = extras->zones[i];
		zone->since_s = mem_array(1, sizeof(*zone->since_s));
		zone->offset_s = mem_array(1, sizeof(*zone->offset_s));
		zone->n_since_s = zone->n_offset_s = 1;
	}
}

/* Whether link has the extras that the text says. A password would need its hash. */
static bool apply(const char *text, size_t len, struct link *link)
{
	char reason[JSON_REASON_SIZE];
	struct public_base base;
	const char *error;
	struct json *json = NULL;
	struct link_extras_request request;
	struct http_problem_fields wrong = { 0 };
	if (json_parse(text, len, &json, reason) != OK)
		return false;
	require(public_base_init(&base, "https://wm.example", &error) == OK);
	base.schemes = "myapp";
	bool is_object = json_type(json) == JSON_OBJECT;
	if (is_object)
		link_extras_request_read(json, &base, &request, &wrong);
	json_free(json);
	if (!is_object)
		return false;
	fill_zones(request.extras);
	enum err err = wrong.count > 0 ? ERR_INVALID : link_extras_request_apply(&request, link);
	link_extras_request_clear(&request);
	require(err == OK || err == ERR_INVALID || err == ERR_LIMIT);
	return err == OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct link *link = mem_zero(sizeof(*link)), *again = mem_zero(sizeof(*again));
	struct strbuf shown;
	strbuf_init(&shown, (size_t)1024 * 1024);
	if (apply((const char *)data, size, link)) {
		struct json *json = json_new_object();
		link_extras_json_set(json, &link->entry);
		json_write(json, &shown);
		json_free(json);
		require(apply(shown.data, shown.len, again));
		require(link->entry.extras_len == again->entry.extras_len);
		require(memcmp(link->entry.extras, again->entry.extras, link->entry.extras_len) ==
		        0);
		require(link->features == again->features);
	}
	strbuf_clear(&shown);
	free(link);
	free(again);
	return 0;
}
