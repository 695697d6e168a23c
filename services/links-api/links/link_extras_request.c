#include "services/links-api/links/link_extras_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/utf8.h"
#include "services/links-api/destinations/destination_check.h"
#include "services/links-api/http/member.h"
#include "services/links-api/links/link_rule_request.h"

/* --- split --- */

static void read_weight(const struct link_extras_reading *r, const struct json *object,
                        const char *parent, Waymark__V1__LinkVariant *variant)
{
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	const struct json *value = json_get(object, "weight");
	member_point(pointer, parent, "/weight");
	if (value && json_type(value) == JSON_INT && json_int(value) >= 1 &&
	    json_int(value) <= LINK_VARIANT_WEIGHT_MAX)
		variant->weight = (uint32_t)json_int(value);
	else
		http_problem_add_field(r->wrong, pointer, value ? "number" : "required",
		                       "must be a whole number from 1 to %d",
		                       LINK_VARIANT_WEIGHT_MAX);
}

static void read_variant(const struct link_extras_reading *r, const struct json *value,
                         const char *pointer, Waymark__V1__LinkVariant *variant)
{
	static const char *const names[] = { "name", "url", "weight" };
	char at[HTTP_PROBLEM_POINTER_SIZE];
	if (json_type(value) != JSON_OBJECT) {
		http_problem_add_field(r->wrong, pointer, "type", "must be an object");
		return;
	}
	member_reject_unknown_at(value, pointer, names, ARRAY_SIZE(names), r->wrong);
	variant->name = link_rule_request_name(r, value, pointer);
	member_point(at, pointer, "/url");
	const struct json *given = json_get(value, "url");
	if (!given)
		http_problem_add_field(r->wrong, at, "required", "is required");
	char *url = given ? destination_check(r->base, given, at, true, r->wrong) : NULL;
	if (url)
		variant->url = url;
	read_weight(r, value, pointer, variant);
}

static bool is_variant(const Waymark__V1__LinkExtras *extras, const char *name)
{
	for (size_t i = 0; i < extras->n_variants; i++)
		if (strcmp(extras->variants[i]->name, name) == 0)
			return true;
	return false;
}

static void read_variants(const struct link_extras_reading *r, const struct json *value)
{
	Waymark__V1__LinkExtras *extras = r->extras;
	size_t count = value && json_type(value) == JSON_ARRAY ? json_count(value) : 0;
	if (count < LINK_VARIANTS_MIN || count > LINK_VARIANTS_MAX) {
		http_problem_add_field(r->wrong, "/split/variants",
		                       !value                      ? "required"
		                       : count > LINK_VARIANTS_MAX ? "too-many"
		                                                   : "array",
		                       "must be an array of %d to %d variants", LINK_VARIANTS_MIN,
		                       LINK_VARIANTS_MAX);
		return;
	}
	extras->variants = mem_array(count, sizeof(*extras->variants));
	for (size_t i = 0; i < count; i++) {
		char pointer[HTTP_PROBLEM_POINTER_SIZE], at[HTTP_PROBLEM_POINTER_SIZE];
		Waymark__V1__LinkVariant *variant = mem_zero(sizeof(*variant));
		waymark__v1__link_variant__init(variant);
		member_point(pointer, "/split/variants", "/%zu", i);
		member_point(at, pointer, "/name");
		read_variant(r, json_at(value, i), pointer, variant);
		if (variant->name[0] && is_variant(extras, variant->name))
			http_problem_add_field(r->wrong, at, "duplicate",
			                       "is the name of an earlier variant");
		extras->variants[extras->n_variants++] = variant;
	}
}

static void read_split(const struct link_extras_reading *r, const struct json *value)
{
	static const char *const names[] = { "variants", "winner" };
	if (json_type(value) == JSON_NULL)
		return;
	if (json_type(value) != JSON_OBJECT) {
		http_problem_add_field(r->wrong, "/split", "type", "must be an object or null");
		return;
	}
	member_reject_unknown_at(value, "/split", names, ARRAY_SIZE(names), r->wrong);
	read_variants(r, json_get(value, "variants"));
	const struct json *winner = member_or_null(value, "winner");
	const char *name = winner ? member_text(winner, "/split/winner", r->wrong) : NULL;
	if (name && is_variant(r->extras, name) && name[0])
		r->extras->winner = mem_text(name);
	else if (name)
		http_problem_add_field(r->wrong, "/split/winner", "choice",
		                       "must be the name of a variant, or null");
}

/* --- the others --- */

static bool read_switch(const struct link_extras_reading *r, const struct json *value,
                        const char *pointer)
{
	if (json_type(value) == JSON_BOOL)
		return json_bool(value);
	if (json_type(value) != JSON_NULL)
		http_problem_add_field(r->wrong, pointer, "type", "must be true or false");
	return false;
}

static void read_forward_query(const struct link_extras_reading *r, const struct json *value)
{
	r->extras->forward_query = read_switch(r, value, "/forward_query");
}

static void read_forward_path(const struct link_extras_reading *r, const struct json *value)
{
	r->extras->forward_path = read_switch(r, value, "/forward_path");
}

static void read_max_visits(const struct link_extras_reading *r, const struct json *value)
{
	if (json_type(value) == JSON_INT && json_int(value) >= 1 &&
	    json_int(value) <= LINK_MAX_VISITS_MAX)
		r->extras->max_visits = json_int(value);
	else if (json_type(value) != JSON_NULL)
		http_problem_add_field(r->wrong, "/max_visits", "number",
		                       "must be null or a whole number from 1 to 1,000,000,000");
}

static void read_preview(const struct link_extras_reading *r, const struct json *value)
{
	static const char *const names[] = { "title", "description", "image_url" };
	static const char title_at[] = "/preview/title", description_at[] = "/preview/description";
	Waymark__V1__LinkExtras *extras = r->extras;
	if (json_type(value) == JSON_NULL)
		return;
	if (json_type(value) != JSON_OBJECT) {
		http_problem_add_field(r->wrong, "/preview", "type", "must be an object or null");
		return;
	}
	member_reject_unknown_at(value, "/preview", names, ARRAY_SIZE(names), r->wrong);
	const struct json *title = member_or_null(value, "title"),
			  *description = member_or_null(value, "description"),
			  *image = member_or_null(value, "image_url");
	const char *text = title ? member_text(title, title_at, r->wrong) : NULL;
	if (text && member_is_line(text, 0, LINK_PREVIEW_TITLE_CHARS_MAX, title_at, r->wrong))
		extras->preview_title = mem_text(text);
	text = description ? member_text(description, description_at, r->wrong) : NULL;
	if (text &&
	    member_is_line(text, 0, LINK_PREVIEW_DESCRIPTION_CHARS_MAX, description_at, r->wrong))
		extras->preview_description = mem_text(text);
	char *url = image ? destination_check(r->base, image, "/preview/image_url", false, r->wrong)
	                  : NULL;
	if (url)
		extras->preview_image_url = url;
}

static void read_password(const struct json *value, struct link_extras_request *out,
                          struct http_problem_fields *wrong)
{
	static const char pointer[] = "/password";
	if (json_type(value) == JSON_NULL)
		return;
	const char *text = member_text(value, pointer, wrong);
	if (!text || !member_is_line(text, 0, PASSWORD_BYTES_MAX, pointer, wrong))
		return;
	if (utf8_length(text, strlen(text)) < LINK_EXTRAS_REQUEST_PASSWORD_CHARS_MIN)
		http_problem_add_field(wrong, pointer, "too-short",
		                       "must have at least %d characters",
		                       LINK_EXTRAS_REQUEST_PASSWORD_CHARS_MIN);
	else if (strlen(text) > PASSWORD_BYTES_MAX)
		http_problem_add_field(wrong, pointer, "too-many-bytes",
		                       "must have at most %d bytes", PASSWORD_BYTES_MAX);
	else
		snprintf(out->password, sizeof(out->password), "%s", text);
}

/* --- all of them --- */

static const struct {
	const char *name;
	enum link_extras_member member;
	/* NULL: the password, which is no part of the extras. */
	void (*read)(const struct link_extras_reading *r, const struct json *value);
} members[] = {
	{ "rules", LINK_EXTRAS_RULES, link_rule_request_read },
	{ "split", LINK_EXTRAS_SPLIT, read_split },
	{ "forward_query", LINK_EXTRAS_FORWARD_QUERY, read_forward_query },
	{ "forward_path", LINK_EXTRAS_FORWARD_PATH, read_forward_path },
	{ "max_visits", LINK_EXTRAS_MAX_VISITS, read_max_visits },
	{ "password", LINK_EXTRAS_PASSWORD, NULL },
	{ "preview", LINK_EXTRAS_PREVIEW, read_preview },
};

static void allocate(struct link_extras_request *request)
{
	if (request->extras)
		return;
	request->extras = mem_zero(sizeof(*request->extras));
	waymark__v1__link_extras__init(request->extras);
}

void link_extras_request_read(const struct json *object, const struct public_base *base,
                              struct link_extras_request *out, struct http_problem_fields *wrong)
{
	*out = (struct link_extras_request){ 0 };
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		const struct json *value = json_get(object, members[i].name);
		if (!value)
			continue;
		allocate(out);
		const struct link_extras_reading r = { base, out->extras, wrong };
		out->members |= members[i].member;
		if (members[i].read)
			members[i].read(&r, value);
		else
			read_password(value, out, wrong);
	}
}

void link_extras_request_clear(struct link_extras_request *request)
{
	if (request->extras)
		waymark__v1__link_extras__free_unpacked(request->extras, NULL);
	request->extras = NULL;
	free(request->packed);
	request->packed = NULL;
	explicit_bzero(request->password, sizeof(request->password));
}

enum err link_extras_request_hash(struct link_extras_request *request)
{
	char hash[PASSWORD_HASH_SIZE];
	enum err err = password_hash(request->password, LINK_PASSWORD_COST, hash);
	explicit_bzero(request->password, sizeof(request->password));
	if (err == OK)
		request->extras->password_hash = mem_text(hash);
	return err;
}

/* Takes what the request says; everything stays borrowed. */
static void merge(const struct link_extras_request *request, Waymark__V1__LinkExtras *extras)
{
	const Waymark__V1__LinkExtras *from = request->extras;
	if (request->members & LINK_EXTRAS_RULES) {
		extras->n_rules = from->n_rules;
		extras->rules = from->rules;
		extras->n_zones = from->n_zones;
		extras->zones = from->zones;
	}
	if (request->members & LINK_EXTRAS_SPLIT) {
		extras->n_variants = from->n_variants;
		extras->variants = from->variants;
		extras->winner = from->winner;
	}
	if (request->members & LINK_EXTRAS_FORWARD_QUERY)
		extras->forward_query = from->forward_query;
	if (request->members & LINK_EXTRAS_FORWARD_PATH)
		extras->forward_path = from->forward_path;
	if (request->members & LINK_EXTRAS_MAX_VISITS)
		extras->max_visits = from->max_visits;
	if (request->members & LINK_EXTRAS_PASSWORD)
		extras->password_hash = from->password_hash;
	if (request->members & LINK_EXTRAS_PREVIEW) {
		extras->preview_title = from->preview_title;
		extras->preview_description = from->preview_description;
		extras->preview_image_url = from->preview_image_url;
	}
}

/* features: unchanged if the request has no members. */
static enum err apply(const struct link_extras_request *request, struct link_entry *entry,
                      unsigned *features)
{
	Waymark__V1__LinkExtras merged = WAYMARK__V1__LINK_EXTRAS__INIT;
	Waymark__V1__LinkExtras *before = NULL;
	size_t len = 0;
	if (request->members == 0)
		return OK;
	if (entry->extras_len > 0) {
		before = link_extras_open(entry->extras, entry->extras_len);
		if (!before)
			return ERR_INTERNAL;
		merged = *before;
	}
	merge(request, &merged);
	enum err err = link_extras_check(&merged, NULL) == OK ? OK : ERR_INTERNAL;
	unsigned has = err == OK ? link_extras_features(&merged) : 0;
	if (has)
		err = link_extras_pack(&merged, entry->extras, &len);
	if (err == OK) {
		entry->extras_len = (uint16_t)len;
		*features = has;
	}
	link_extras_free(before);
	return err;
}

enum err link_extras_request_apply(const struct link_extras_request *request, struct link *link)
{
	return apply(request, &link->entry, &link->features);
}

static void add_default(struct link_extras_request *request, enum link_extras_member member)
{
	if (request->members & member)
		return;
	allocate(request);
	request->members |= member;
	if (member == LINK_EXTRAS_FORWARD_QUERY)
		request->extras->forward_query = true;
	else
		request->extras->forward_path = true;
}

enum err link_extras_request_pack(struct link_extras_request *request, bool forward_query,
                                  bool forward_path)
{
	if (forward_query)
		add_default(request, LINK_EXTRAS_FORWARD_QUERY);
	if (forward_path)
		add_default(request, LINK_EXTRAS_FORWARD_PATH);
	if (request->members == 0)
		return OK;
	struct link_entry *entry = mem_zero(sizeof(*entry));
	enum err err = apply(request, entry, &request->features);
	if (err == OK && entry->extras_len > 0) {
		request->packed_len = entry->extras_len;
		request->packed = mem_copy(entry->extras, entry->extras_len);
	}
	free(entry);
	return err;
}
