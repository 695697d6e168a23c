#include "services/links-api/accounts/app_document.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define TEAM_ID_CHARS 10
/* Of "AB:", 32 times, without the last colon. */
#define FINGERPRINT_CHARS 95

bool app_document_find(const char *name, enum app_document_kind *kind)
{
	bool is_apple = strcmp(name, "apple-app-site-association") == 0;
	*kind = is_apple ? APP_DOCUMENT_APPLE : APP_DOCUMENT_GOOGLE;
	return is_apple || strcmp(name, "assetlinks.json") == 0;
}

/* A value, and where it stands. */
struct place {
	const struct json *value;
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
};

static struct place member(const struct place *of, const char *name)
{
	struct place place = { .value = json_get(of->value, name) };
	snprintf(place.pointer, sizeof(place.pointer), "%.70s/%s", of->pointer, name);
	return place;
}

static struct place element(const struct place *of, size_t index)
{
	struct place place = { .value = json_at(of->value, index) };
	snprintf(place.pointer, sizeof(place.pointer), "%.70s/%zu", of->pointer, index);
	return place;
}

static bool has_type(const struct place *place, enum json_type type,
                     struct http_problem_fields *wrong)
{
	static const char *const names[] = { [JSON_OBJECT] = "an object",
		                             [JSON_ARRAY] = "an array",
		                             [JSON_TEXT] = "a string",
		                             [JSON_BOOL] = "true or false" };
	if (!place->value)
		http_problem_add_field(wrong, place->pointer, "required", "is required");
	else if (json_type(place->value) != type)
		http_problem_add_field(wrong, place->pointer, "type", "must be %s", names[type]);
	return place->value && json_type(place->value) == type;
}

typedef void (*check_place)(const struct place *place, struct http_problem_fields *wrong);

static void check_each(const struct place *array, check_place check,
                       struct http_problem_fields *wrong)
{
	if (!has_type(array, JSON_ARRAY, wrong))
		return;
	for (size_t i = 0; i < json_count(array->value); i++) {
		struct place each = element(array, i);
		check(&each, wrong);
	}
}

/* The same, with at least one. */
static void check_some(const struct place *array, check_place check,
                       struct http_problem_fields *wrong)
{
	check_each(array, check, wrong);
	if (array->value && json_type(array->value) == JSON_ARRAY && json_count(array->value) == 0)
		http_problem_add_field(wrong, array->pointer, "required", "must have at least one");
}

static void check_text(const struct place *place, struct http_problem_fields *wrong)
{
	if (has_type(place, JSON_TEXT, wrong) && *json_text(place->value, NULL) == '\0')
		http_problem_add_field(wrong, place->pointer, "empty", "must not be empty");
}

/* --- Apple --- */

/* ABCDE12345.com.example.app */
static void check_app_id(const struct place *place, struct http_problem_fields *wrong)
{
	if (!has_type(place, JSON_TEXT, wrong))
		return;
	const char *text = json_text(place->value, NULL);
	size_t team = strspn(text, LETTERS DIGITS);
	const char *bundle = text[team] == '.' ? text + team + 1 : "";
	if (team != TEAM_ID_CHARS || !*bundle ||
	    bundle[strspn(bundle, LETTERS DIGITS "-.")] != '\0')
		http_problem_add_field(
			wrong, place->pointer, "malformed",
			"must be an app id like ABCDE12345.com.example.app: a team's prefix of ten "
			"characters and a bundle id");
}

static void check_component(const struct place *place, struct http_problem_fields *wrong)
{
	static const char *const patterns[] = { "/", "#" };
	static const char *const flags[] = { "exclude", "caseSensitive", "percentEncoded" };
	if (!has_type(place, JSON_OBJECT, wrong))
		return;
	for (size_t i = 0; i < 2; i++)
		if (json_get(place->value, patterns[i]) &&
		    json_type(json_get(place->value, patterns[i])) != JSON_TEXT)
			http_problem_add_field(wrong, place->pointer, "type",
			                       "must have a string as \"%s\"", patterns[i]);
	/* A pattern of the whole query, or of values by name. */
	const struct json *query = json_get(place->value, "?");
	if (query && json_type(query) != JSON_TEXT && json_type(query) != JSON_OBJECT)
		http_problem_add_field(wrong, place->pointer, "type",
		                       "must have a string or an object as \"?\"");
	for (size_t i = 0; i < 3; i++) {
		struct place flag = member(place, flags[i]);
		if (flag.value)
			has_type(&flag, JSON_BOOL, wrong);
	}
}

static void check_detail(const struct place *place, struct http_problem_fields *wrong)
{
	if (!has_type(place, JSON_OBJECT, wrong))
		return;
	struct place ids = member(place, "appIDs"), id = member(place, "appID");
	struct place components = member(place, "components"), paths = member(place, "paths");
	if (id.value && !ids.value)
		check_app_id(&id, wrong);
	else
		check_some(&ids, check_app_id, wrong);
	if (paths.value && !components.value)
		check_each(&paths, check_text, wrong);
	else
		check_each(&components, check_component, wrong);
}

static void check_apps(const struct place *document, const char *name,
                       struct http_problem_fields *wrong)
{
	struct place part = member(document, name);
	if (!part.value || !has_type(&part, JSON_OBJECT, wrong))
		return;
	struct place apps = member(&part, "apps");
	check_each(&apps, check_app_id, wrong);
}

static void check_apple(const struct place *document, struct http_problem_fields *wrong)
{
	if (!has_type(document, JSON_OBJECT, wrong))
		return;
	struct place links = member(document, "applinks");
	if (links.value && has_type(&links, JSON_OBJECT, wrong)) {
		struct place details = member(&links, "details");
		check_each(&details, check_detail, wrong);
	}
	check_apps(document, "webcredentials", wrong);
	check_apps(document, "appclips", wrong);
	if (!links.value && !json_get(document->value, "webcredentials") &&
	    !json_get(document->value, "appclips"))
		http_problem_add_field(wrong, document->pointer, "required",
		                       "must have applinks, webcredentials or appclips");
}

/* --- Google --- */

static void check_fingerprint(const struct place *place, struct http_problem_fields *wrong)
{
	if (!has_type(place, JSON_TEXT, wrong))
		return;
	const char *text = json_text(place->value, NULL);
	bool is_right = strlen(text) == FINGERPRINT_CHARS;
	for (size_t i = 0; is_right && i < FINGERPRINT_CHARS; i++)
		is_right = i % 3 == 2 ? text[i] == ':' : strchr(DIGITS "ABCDEF", text[i]) != NULL;
	if (!is_right)
		http_problem_add_field(wrong, place->pointer, "malformed",
		                       "must be a SHA-256 fingerprint: 32 pairs of 0-9 and A-F, "
		                       "separated by colons");
}

static void check_package(const struct place *place, struct http_problem_fields *wrong)
{
	if (!has_type(place, JSON_TEXT, wrong))
		return;
	const char *text = json_text(place->value, NULL);
	bool is_right = strchr(text, '.') != NULL;
	for (const char *at = text; is_right && at;
	     at = strchr(at, '.') ? strchr(at, '.') + 1 : NULL)
		is_right = *at && strchr(LETTERS, *at) &&
		           strchr(".", at[strspn(at, LETTERS DIGITS "_")]);
	if (!is_right)
		http_problem_add_field(wrong, place->pointer, "malformed",
		                       "must be a package name like com.example.app");
}

static void check_site(const struct place *place, struct http_problem_fields *wrong)
{
	if (!has_type(place, JSON_TEXT, wrong))
		return;
	const char *text = json_text(place->value, NULL);
	if (strncmp(text, "https://", 8) != 0 && strncmp(text, "http://", 7) != 0)
		http_problem_add_field(wrong, place->pointer, "url-scheme",
		                       "must begin with https:// or http://");
}

static void check_target(const struct place *target, struct http_problem_fields *wrong)
{
	if (!has_type(target, JSON_OBJECT, wrong))
		return;
	struct place namespace = member(target, "namespace");
	const char *name =
		has_type(&namespace, JSON_TEXT, wrong) ? json_text(namespace.value, NULL) : NULL;
	if (name && strcmp(name, "android_app") == 0) {
		struct place package = member(target, "package_name");
		struct place prints = member(target, "sha256_cert_fingerprints");
		check_package(&package, wrong);
		check_some(&prints, check_fingerprint, wrong);
	} else if (name && strcmp(name, "web") == 0) {
		struct place site = member(target, "site");
		check_site(&site, wrong);
	} else if (name) {
		http_problem_add_field(wrong, namespace.pointer, "choice",
		                       "must be android_app or web");
	}
}

static void check_statement(const struct place *statement, struct http_problem_fields *wrong)
{
	if (!has_type(statement, JSON_OBJECT, wrong))
		return;
	struct place include = member(statement, "include");
	struct place relation = member(statement, "relation"), target = member(statement, "target");
	/* A statement may name another list instead. */
	if (include.value && !relation.value && !target.value) {
		check_site(&include, wrong);
		return;
	}
	check_some(&relation, check_text, wrong);
	if (!target.value)
		http_problem_add_field(wrong, target.pointer, "required", "is required");
	else
		check_target(&target, wrong);
}

void app_document_check(enum app_document_kind kind, const struct json *document,
                        struct http_problem_fields *wrong)
{
	struct place root = { .value = document, .pointer = "/document" };
	if (kind == APP_DOCUMENT_APPLE)
		check_apple(&root, wrong);
	else
		check_some(&root, check_statement, wrong);
}
