#include "lib/links/host_policy.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash_table.h"
#include "lib/base/mem.h"
#include "lib/base/url.h"
#include "lib/links/link.h"

#define BELOW(kind) ((kind) << 2) /* the same for all subdomains of the name */

struct rule {
	UT_hash_handle hh;
	/* enum host_policy_kind and BELOW(kind), combined. */
	unsigned kinds;
	/* In lower case, without a NUL. */
	char name[];
};

struct host_policy {
	struct rule *rules;
	bool only_allowed;
};

/* A host in the normal form of the table. */
struct name {
	char text[HOST_POLICY_NAME_MAX + 1];
	size_t len;
	bool is_address;
};

struct host_policy *host_policy_new(void)
{
	return mem_zero(sizeof(struct host_policy));
}

void host_policy_free(struct host_policy *policy)
{
	if (!policy)
		return;
	struct rule *rule, *next;
	HASH_ITER(hh, policy->rules, rule, next) {
		HASH_DEL(policy->rules, rule);
		free(rule);
	}
	free(policy);
}

size_t host_policy_count(const struct host_policy *policy)
{
	return HASH_COUNT(policy->rules);
}

static struct rule *find(const struct host_policy *policy, const char *name, size_t len)
{
	struct rule *rule;
	HASH_FIND(hh, policy->rules, name, len, rule);
	return rule;
}

static struct rule *add_rule(struct host_policy *policy, const struct name *name)
{
	struct rule *rule = mem_zero(sizeof(*rule) + name->len);
	memcpy(rule->name, name->text, name->len);
	HASH_ADD_KEYPTR(hh, policy->rules, rule->name, name->len, rule);
	return rule;
}

/* An IPv6 address that embeds an IPv4 address gets the name of the latter. */
static bool read_ipv6(const char *text, size_t len, struct name *out)
{
	if (!url_ipv6_is_ipv4(text, len, out->text) && !url_ipv6_normalise(text, len, out->text))
		return false;
	out->len = strlen(out->text);
	out->is_address = true;
	return true;
}

static char lower(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return c;
}

/* Browsers recognise IPv4 addresses in the same way: by a last label of digits. */
static bool ends_in_number(const struct name *name)
{
	size_t begin = name->len;
	while (begin > 0 && name->text[begin - 1] >= '0' && name->text[begin - 1] <= '9')
		begin--;
	return begin < name->len && (begin == 0 || name->text[begin - 1] == '.');
}

/* False if text is longer than a name can be. */
static bool read_name(const char *text, size_t len, struct name *out)
{
	if (len > 0 && text[0] == '[')
		return read_ipv6(text, len, out);
	if (len > 0 && text[len - 1] == '.')
		len--;
	if (len > HOST_POLICY_NAME_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		out->text[i] = lower(text[i]);
	out->text[len] = '\0';
	out->len = len;
	out->is_address = ends_in_number(out);
	return true;
}

static bool is_valid_rule(const struct name *name)
{
	struct in_addr address;
	if (name->text[0] == '[')
		return true;
	if (strlen(name->text) != name->len)
		return false;
	if (name->is_address)
		return inet_pton(AF_INET, name->text, &address) == 1;
	if (name->len == 0 || name->text[0] == '.' || strstr(name->text, ".."))
		return false;
	return strspn(name->text, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == name->len;
}

enum err host_policy_add(struct host_policy *policy, enum host_policy_kind kind, const char *rule,
                         size_t len)
{
	struct name name;
	bool has_below = len > 0 && rule[0] == '.';
	if (!read_name(rule + has_below, len - has_below, &name) || !is_valid_rule(&name))
		return ERR_INVALID;
	if (host_policy_count(policy) == HOST_POLICY_RULES_MAX)
		return ERR_LIMIT;
	struct rule *added = find(policy, name.text, name.len);
	if (!added)
		added = add_rule(policy, &name);
	added->kinds |= kind;
	if (has_below && !name.is_address)
		added->kinds |= BELOW((unsigned)kind);
	policy->only_allowed |= kind == HOST_POLICY_ALLOWLIST;
	return OK;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static enum err add_line(struct host_policy *policy, enum host_policy_kind kind, const char *line,
                         size_t len)
{
	const char *comment = memchr(line, '#', len);
	if (comment)
		len = (size_t)(comment - line);
	while (len > 0 && is_blank(line[len - 1]))
		len--;
	while (len > 0 && is_blank(line[0])) {
		line++;
		len--;
	}
	return len == 0 ? OK : host_policy_add(policy, kind, line, len);
}

enum err host_policy_add_list(struct host_policy *policy, enum host_policy_kind kind,
                              const char *text, size_t len, size_t *line)
{
	size_t number = 0;
	while (len > 0) {
		const char *end = memchr(text, '\n', len);
		size_t line_len = end ? (size_t)(end - text) : len;
		number++;
		enum err err = add_line(policy, kind, text, line_len);
		if (err != OK) {
			*line = number;
			return err;
		}
		line_len += end != NULL;
		text += line_len;
		len -= line_len;
	}
	return OK;
}

/* Combines the kinds of the rules for the name and its parent domains, without BELOW. */
static unsigned kinds_of(const struct host_policy *policy, const struct name *name)
{
	const struct rule *own = find(policy, name->text, name->len);
	unsigned kinds = own ? own->kinds & (HOST_POLICY_BLOCKLIST | HOST_POLICY_ALLOWLIST) : 0;
	if (name->is_address)
		return kinds;
	const char *end = name->text + name->len;
	for (const char *dot = name->text; (dot = memchr(dot, '.', (size_t)(end - dot))); dot++) {
		const struct rule *above = find(policy, dot + 1, (size_t)(end - dot - 1));
		kinds |= above ? above->kinds / BELOW(1U) : 0;
	}
	return kinds;
}

enum host_policy_decision host_policy_check(const struct host_policy *policy, const char *url)
{
	if (!policy->rules)
		return HOST_POLICY_ALLOWED;
	const char *host;
	struct name name;
	size_t len = link_url_host(url, &host);
	unsigned kinds = read_name(host, len, &name) ? kinds_of(policy, &name) : 0;
	if (kinds & HOST_POLICY_BLOCKLIST)
		return HOST_POLICY_BLOCKED;
	return policy->only_allowed && !(kinds & HOST_POLICY_ALLOWLIST) ? HOST_POLICY_NOT_ALLOWED
	                                                                : HOST_POLICY_ALLOWED;
}
