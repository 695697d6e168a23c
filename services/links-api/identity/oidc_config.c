#include "services/links-api/identity/oidc_config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/url.h"
#include "services/links-api/identity/oidc_token.h"

#define POINTER_SIZE 160
#define TEXT_MAX 512
/* A key of HMAC that is shorter can be guessed (RFC 7518, 3.2). */
#define HMAC_SECRET_MIN 32
#define DEFAULT_SCOPES "openid email profile"

struct reader {
	struct strbuf *problems;
	size_t wrong;
	size_t provider;
};

/* member: the rest of the JSON pointer, "" or "/issuer". */
static void report(struct reader *reader, const char *member, const char *reason)
{
	strbuf_add_format(reader->problems, "OIDC_CONFIG: /providers/%zu%s %s\n", reader->provider,
	                  member, reason);
	reader->wrong++;
}

static void report_document(struct reader *reader, const char *pointer, const char *reason)
{
	strbuf_add_format(reader->problems, "OIDC_CONFIG: %s%s\n", pointer, reason);
	reader->wrong++;
}

/* --- URLs --- */

static bool is_loopback(struct url_part host)
{
	if (url_part_is(host, "localhost") || url_part_is(host, "[::1]"))
		return true;
	return host.len > 4 && strncmp(host.text, "127.", 4) == 0 &&
	       strspn(host.text, "0123456789.") >= host.len;
}

bool oidc_config_is_url(const char *url)
{
	struct url parts;
	size_t len = strlen(url);
	if (len > OIDC_CONFIG_URL_MAX || url_split(url, len, &parts) != OK || parts.user.text ||
	    parts.fragment.text || parts.host.len == 0)
		return false;
	for (const char *c = url; *c; c++)
		if (*c <= ' ' || *c >= 0x7f || strchr("\"<>\\^`{|}", *c))
			return false;
	return url_part_is(parts.scheme, "https") ||
	       (url_part_is(parts.scheme, "http") && is_loopback(parts.host));
}

/* --- members --- */

struct member {
	const char *name;
	enum json_type type;
	bool is_required;
};

static const struct member members[] = {
	{ "id", JSON_TEXT, true },
	{ "name", JSON_TEXT, true },
	{ "issuer", JSON_TEXT, true },
	{ "client_id", JSON_TEXT, true },
	{ "client_secret", JSON_TEXT, false },
	{ "client_secret_file", JSON_TEXT, false },
	{ "scopes", JSON_TEXT, false },
	{ "ca_file", JSON_TEXT, false },
	{ "required_claim", JSON_TEXT, false },
	{ "groups_claim", JSON_TEXT, false },
	{ "admin_groups", JSON_ARRAY, false },
	{ "workspace_roles", JSON_OBJECT, false },
	{ "algorithms", JSON_ARRAY, false },
	{ "admits_everyone", JSON_BOOL, false },
	{ "trusts_email", JSON_BOOL, false },
};

static const char *type_name(enum json_type type)
{
	switch (type) {
	case JSON_TEXT:
		return "must be a text of 1 to 512 bytes without control characters";
	case JSON_ARRAY:
		return "must be an array";
	case JSON_OBJECT:
		return "must be an object";
	default:
		return "must be true or false";
	}
}

static bool is_line(const struct json *value)
{
	size_t len;
	const char *text = json_text(value, &len);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return len > 0 && len <= TEXT_MAX;
}

static void check_member(struct reader *reader, const struct json *object,
                         const struct member *member)
{
	char pointer[POINTER_SIZE];
	const struct json *value = json_get(object, member->name);
	snprintf(pointer, sizeof(pointer), "/%s", member->name);
	if (!value && member->is_required)
		report(reader, pointer, "is missing");
	else if (value && (json_type(value) != member->type ||
	                   (member->type == JSON_TEXT && !is_line(value))))
		report(reader, pointer, type_name(member->type));
}

static void check_unknown(struct reader *reader, const struct json *object)
{
	const char *name;
	struct json *value;
	for (size_t at = json_next(object, 0, &name, &value); at;
	     at = json_next(object, at, &name, &value)) {
		bool is_known = false;
		char pointer[POINTER_SIZE];
		for (size_t i = 0; i < ARRAY_SIZE(members); i++)
			is_known |= strcmp(members[i].name, name) == 0;
		snprintf(pointer, sizeof(pointer), "/%.100s", name);
		if (!is_known)
			report(reader, pointer, "is unknown");
	}
}

static const char *text_of(const struct json *object, const char *name, const char *fallback)
{
	const struct json *value = json_get(object, name);
	return value ? json_text(value, NULL) : fallback;
}

static bool bool_of(const struct json *object, const char *name)
{
	const struct json *value = json_get(object, name);
	return value && json_bool(value);
}

/* --- the parts of a provider --- */

static bool is_id(const char *id)
{
	size_t len = strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-");
	return len > 0 && len <= OIDC_TOKEN_PROVIDER_MAX && !id[len];
}

static bool has_scope(const char *scopes, const char *scope)
{
	size_t len = strlen(scope);
	for (const char *at = scopes + strspn(scopes, " "); *at; at += strspn(at, " ")) {
		size_t each = strcspn(at, " ");
		if (each == len && strncmp(at, scope, len) == 0)
			return true;
		at += each;
	}
	return false;
}

static bool is_claim(const char *text)
{
	const char *equals = strchr(text, '=');
	return equals && equals != text && equals[1];
}

/* One trailing newline is not part of it. */
static void read_secret_file(struct reader *reader, const char *path, struct oidc_provider *out)
{
	FILE *file = fopen(path, "re");
	size_t len = file ? fread(out->client_secret, 1, sizeof(out->client_secret), file) : 0;
	if (file)
		(void)fclose(file);
	if (len > 0 && len < sizeof(out->client_secret) && out->client_secret[len - 1] == '\n')
		len--;
	if (len == 0 || len == sizeof(out->client_secret)) {
		report(reader, "/client_secret_file", "cannot be read, or is empty or too long");
		len = 0;
	}
	out->client_secret[len] = '\0';
}

static void read_secret(struct reader *reader, const struct json *object, struct oidc_provider *out)
{
	const char *secret = text_of(object, "client_secret", "");
	const char *file = text_of(object, "client_secret_file", "");
	if (*secret && *file)
		report(reader, "/client_secret_file", "stands beside client_secret: give one");
	else if (*file)
		read_secret_file(reader, file, out);
	else
		snprintf(out->client_secret, sizeof(out->client_secret), "%s", secret);
}

static void check_texts(struct reader *reader, const struct json *array, const char *name)
{
	for (size_t i = 0; array && i < json_count(array); i++) {
		char pointer[POINTER_SIZE];
		const struct json *item = json_at(array, i);
		snprintf(pointer, sizeof(pointer), "/%s/%zu", name, i);
		if (json_type(item) != JSON_TEXT || !is_line(item))
			report(reader, pointer, type_name(JSON_TEXT));
	}
}

static void check_algorithms(struct reader *reader, const struct oidc_provider *provider)
{
	const struct json *list = provider->algorithms;
	if (list && json_count(list) == 0)
		report(reader, "/algorithms", "must not be empty");
	for (size_t i = 0; list && i < json_count(list); i++) {
		char pointer[POINTER_SIZE];
		const struct json *item = json_at(list, i);
		const char *name = json_type(item) == JSON_TEXT ? json_text(item, NULL) : "";
		snprintf(pointer, sizeof(pointer), "/algorithms/%zu", i);
		if (!oidc_token_knows_algorithm(name))
			report(reader, pointer, "must be one of " OIDC_TOKEN_ALGORITHMS);
		else if (name[0] == 'H' && strlen(provider->client_secret) < HMAC_SECRET_MIN)
			report(reader, pointer, "needs a client secret of at least 32 bytes");
	}
}

/* An owner is made by hand: nobody may lose the last one by leaving a group. */
static bool is_role(const struct json *value)
{
	const char *role = value && json_type(value) == JSON_TEXT ? json_text(value, NULL) : "";
	return strcmp(role, "viewer") == 0 || strcmp(role, "editor") == 0 ||
	       strcmp(role, "admin") == 0;
}

static void check_roles(struct reader *reader, const struct json *roles)
{
	const char *group;
	struct json *given;
	for (size_t at = roles ? json_next(roles, 0, &group, &given) : 0; at;
	     at = json_next(roles, at, &group, &given)) {
		char pointer[POINTER_SIZE];
		bool is_object = json_type(given) == JSON_OBJECT;
		const struct json *id = is_object ? json_get(given, "workspace_id") : NULL;
		snprintf(pointer, sizeof(pointer), "/workspace_roles/%.100s", group);
		if (!is_object || json_count(given) != 2 || !id || json_type(id) != JSON_INT ||
		    json_int(id) <= 0 || !is_role(json_get(given, "role")))
			report(reader, pointer,
			       "must be {\"workspace_id\": NUMBER, \"role\": \"viewer\", "
			       "\"editor\" or \"admin\"}");
	}
}

static void check_meaning(struct reader *reader, const struct oidc_provider *provider)
{
	if (!is_id(provider->id))
		report(reader, "/id", "must be 1 to 32 of a to z, 0 to 9 and -");
	if (!oidc_config_is_url(provider->issuer) || strchr(provider->issuer, '?'))
		report(reader, "/issuer",
		       "must be an https:// URL without a query (http:// only for this machine)");
	if (!has_scope(provider->scopes, "openid"))
		report(reader, "/scopes", "must contain openid");
	if (*provider->required_claim && !is_claim(provider->required_claim))
		report(reader, "/required_claim", "must be NAME=VALUE");
	if ((provider->admin_groups || provider->workspace_roles) && !*provider->groups_claim)
		report(reader, "/groups_claim", "is missing: it names the claim that has groups");
	check_texts(reader, provider->admin_groups, "admin_groups");
	check_algorithms(reader, provider);
	check_roles(reader, provider->workspace_roles);
}

static void read_provider(struct reader *reader, const struct json *object,
                          struct oidc_provider *out)
{
	size_t wrong = reader->wrong;
	if (json_type(object) != JSON_OBJECT) {
		report(reader, "", type_name(JSON_OBJECT));
		return;
	}
	check_unknown(reader, object);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		check_member(reader, object, &members[i]);
	if (reader->wrong > wrong)
		return;
	out->id = text_of(object, "id", "");
	out->name = text_of(object, "name", "");
	out->issuer = text_of(object, "issuer", "");
	out->client_id = text_of(object, "client_id", "");
	out->scopes = text_of(object, "scopes", DEFAULT_SCOPES);
	out->ca_file = text_of(object, "ca_file", "");
	out->required_claim = text_of(object, "required_claim", "");
	out->groups_claim = text_of(object, "groups_claim", "");
	out->admin_groups = json_get(object, "admin_groups");
	out->workspace_roles = json_get(object, "workspace_roles");
	out->algorithms = json_get(object, "algorithms");
	out->admits_everyone = bool_of(object, "admits_everyone");
	out->trusts_email = bool_of(object, "trusts_email");
	read_secret(reader, object, out);
	check_meaning(reader, out);
}

static void check_repeated(struct reader *reader, const struct oidc_config *config)
{
	for (size_t i = 1; i < config->count; i++)
		for (size_t j = 0; j < i; j++)
			if (config->providers[i].id && config->providers[j].id &&
			    strcmp(config->providers[i].id, config->providers[j].id) == 0) {
				reader->provider = i;
				report(reader, "/id", "is the id of an earlier provider");
			}
}

static void read_providers(struct reader *reader, struct oidc_config *out,
                           const char *required_claim)
{
	bool is_object = json_type(out->document) == JSON_OBJECT;
	const struct json *list = is_object ? json_get(out->document, "providers") : NULL;
	if (!list || json_type(list) != JSON_ARRAY || json_count(out->document) != 1 ||
	    json_count(list) > OIDC_CONFIG_PROVIDERS_MAX) {
		report_document(reader, "",
		                "must be {\"providers\": [...]} with at most 8 of them");
		return;
	}
	for (size_t i = 0; i < json_count(list); i++) {
		struct oidc_provider *provider = &out->providers[out->count++];
		reader->provider = i;
		read_provider(reader, json_at(list, i), provider);
		provider->required_claim_of_all = required_claim;
	}
	check_repeated(reader, out);
}

enum err oidc_config_parse(const char *text, size_t len, const char *required_claim,
                           struct oidc_config *out, struct strbuf *problems)
{
	char reason[JSON_REASON_SIZE];
	struct oidc_config read = { 0 };
	struct reader reader = { .problems = problems };
	if (*required_claim && !is_claim(required_claim)) {
		strbuf_add_text(problems, "OIDC_REQUIRED_CLAIM: must be NAME=VALUE\n");
		reader.wrong++;
	}
	if (json_parse(text, len, &read.document, reason) != OK)
		report_document(&reader, "is not JSON: ", reason);
	else
		read_providers(&reader, &read, required_claim);
	if (reader.wrong > 0) {
		oidc_config_clear(&read);
		return ERR_INVALID;
	}
	*out = read;
	return OK;
}

enum err oidc_config_read(const char *path, const char *required_claim, struct oidc_config *out,
                          struct strbuf *problems)
{
	static const char none[] = "{\"providers\":[]}";
	if (!*path)
		return oidc_config_parse(none, strlen(none), required_claim, out, problems);
	FILE *file = fopen(path, "re");
	char *text = mem_zero(OIDC_CONFIG_BYTES_MAX);
	size_t len = file ? fread(text, 1, OIDC_CONFIG_BYTES_MAX, file) : 0;
	if (file)
		(void)fclose(file);
	enum err err = ERR_INVALID;
	if (len == 0 || len == OIDC_CONFIG_BYTES_MAX)
		strbuf_add_format(problems,
		                  "OIDC_CONFIG: %s cannot be read, is empty or too large\n", path);
	else
		err = oidc_config_parse(text, len, required_claim, out, problems);
	explicit_bzero(text, len);
	free(text);
	return err;
}

size_t oidc_config_check(const char *path, const char *required_claim, struct strbuf *problems)
{
	struct oidc_config config;
	if (oidc_config_read(path, required_claim, &config, problems) != OK)
		return 1;
	oidc_config_clear(&config);
	return 0;
}

void oidc_config_clear(struct oidc_config *config)
{
	json_free(config->document);
	explicit_bzero(config, sizeof(*config));
}

const struct oidc_provider *oidc_config_find(const struct oidc_config *config, const char *id)
{
	for (size_t i = 0; i < config->count; i++)
		if (strcmp(config->providers[i].id, id) == 0)
			return &config->providers[i];
	return NULL;
}
