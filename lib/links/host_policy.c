/*
 * Names are in one open-addressing hash table, hashed from their last byte to the first. So one
 * pass over a host from its end finds all its parent domains: at each dot, the hash so far is the
 * hash of one of them.
 */
#include "lib/links/host_policy.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/ipv6_host.h"
#include "lib/base/mem.h"
#include "lib/links/link.h"

#define INITIAL_CAPACITY 64
#define HASH_START UINT64_C(0xcbf29ce484222325)
#define HASH_FACTOR UINT64_C(0x100000001b3)
#define BELOW(kind) ((kind) << 2) /* the same for all subdomains of the name */

struct rule {
	char *name; /* lower case; NULL = a free slot */
	uint64_t hash;
	uint16_t len;
	uint16_t kinds; /* enum host_policy_kind and BELOW(kind), combined */
};

struct host_policy {
	struct rule *rules;
	size_t capacity; /* a power of two, at least twice count */
	size_t count;
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
	struct host_policy *policy = mem_zero(sizeof(*policy));
	policy->capacity = INITIAL_CAPACITY;
	policy->rules = mem_array(policy->capacity, sizeof(*policy->rules));
	return policy;
}

void host_policy_free(struct host_policy *policy)
{
	if (!policy)
		return;
	for (size_t i = 0; i < policy->capacity; i++)
		free(policy->rules[i].name);
	free(policy->rules);
	free(policy);
}

size_t host_policy_count(const struct host_policy *policy)
{
	return policy->count;
}

static uint64_t hash_step(uint64_t hash, char c)
{
	return (hash ^ (unsigned char)c) * HASH_FACTOR;
}

static uint64_t hash_of(const char *name, size_t len)
{
	uint64_t hash = HASH_START;
	while (len > 0)
		hash = hash_step(hash, name[--len]);
	return hash;
}

/* Returns the slot of the name, or the free slot where it belongs. */
static struct rule *find(const struct host_policy *policy, uint64_t hash, const char *name,
                         size_t len)
{
	/*
	 * Mix in the high bits: the low bits of a product depend only on the low bits of its
	 * factors.
	 */
	for (size_t i = (hash ^ hash >> 32) & (policy->capacity - 1);;
	     i = (i + 1) & (policy->capacity - 1)) {
		struct rule *rule = &policy->rules[i];
		if (!rule->name ||
		    (rule->hash == hash && rule->len == len && memcmp(rule->name, name, len) == 0))
			return rule;
	}
}

static void grow(struct host_policy *policy)
{
	struct host_policy larger = *policy;
	larger.capacity = policy->capacity * 2;
	larger.rules = mem_array(larger.capacity, sizeof(*larger.rules));
	for (size_t i = 0; i < policy->capacity; i++) {
		const struct rule *rule = &policy->rules[i];
		if (rule->name)
			*find(&larger, rule->hash, rule->name, rule->len) = *rule;
	}
	free(policy->rules);
	*policy = larger;
}

/* An IPv6 address that embeds an IPv4 address gets the name of the latter. */
static bool read_ipv6(const char *text, size_t len, struct name *out)
{
	if (!ipv6_host_is_ipv4(text, len, out->text) && !ipv6_host_normalise(text, len, out->text))
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
	if (policy->count == HOST_POLICY_RULES_MAX)
		return ERR_LIMIT;
	if (policy->count * 2 >= policy->capacity)
		grow(policy);

	uint64_t hash = hash_of(name.text, name.len);
	struct rule *slot = find(policy, hash, name.text, name.len);
	if (!slot->name) {
		*slot = (struct rule){ mem_text_n(name.text, name.len), hash, (uint16_t)name.len,
			               0 };
		policy->count++;
	}
	slot->kinds |= (uint16_t)kind;
	if (has_below && !name.is_address)
		slot->kinds |= (uint16_t)BELOW(kind);
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
	unsigned kinds = 0;
	uint64_t hash = HASH_START;
	size_t at = name->len;
	while (at > 0) {
		at--;
		if (name->text[at] == '.' && !name->is_address) {
			const struct rule *above =
				find(policy, hash, name->text + at + 1, name->len - at - 1);
			kinds |= above->kinds / BELOW(1U);
		}
		hash = hash_step(hash, name->text[at]);
	}
	return kinds | (find(policy, hash, name->text, name->len)->kinds &
	                (HOST_POLICY_BLOCKLIST | HOST_POLICY_ALLOWLIST));
}

enum host_policy_decision host_policy_check(const struct host_policy *policy, const char *url)
{
	if (policy->count == 0)
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
