#include "lib/visitors/user_agent_rules.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <yaml.h>

#include "lib/base/mem.h"
#include "lib/base/utf8.h"

/* uap-core's rules and our own, which the build embeds (data.cmake). */
extern const char user_agent_data_rules[];
extern const size_t user_agent_data_rules_size;
extern const char user_agent_data_additions[];
extern const size_t user_agent_data_additions_size;

#define RULES_MAX 20000
#define JIT_STACK_START ((size_t)32 * 1024)
#define JIT_STACK_MAX ((size_t)512 * 1024)
#define MATCH_LIMIT 1000000
#define GROUPS_MAX 10

struct rule {
	pcre2_code *code;
	/* Its family is "Spider". */
	bool is_spider;
	/* NULL = the default group of shape.fields. */
	char *replacements[USER_AGENT_RULES_FIELDS_MAX];
};

struct list {
	struct rule *rules;
	size_t count;
};

struct user_agent_rules {
	struct list lists[USER_AGENT_RULES_LISTS];
	pcre2_match_data *match;
	pcre2_match_context *context;
	pcre2_jit_stack *jit_stack;
};

/* The name of each list in the file, and the source of each field. */
static const struct shape {
	const char *name;
	struct {
		const char *replacement;
		/* Gives the field when there is no replacement. */
		int group;
	} fields[USER_AGENT_RULES_FIELDS_MAX];
} shapes[USER_AGENT_RULES_LISTS] = {
	[USER_AGENT_RULES_BROWSER] = { "user_agent_parsers",
	                               { { "family_replacement", 1 },
	                                 { "v1_replacement", 2 },
	                                 { "v2_replacement", 3 },
	                                 { "v3_replacement", 4 } } },
	[USER_AGENT_RULES_OS] = { "os_parsers",
	                          { { "os_replacement", 1 },
	                            { "os_v1_replacement", 2 },
	                            { "os_v2_replacement", 3 },
	                            { "os_v3_replacement", 4 },
	                            { "os_v4_replacement", 5 } } },
	[USER_AGENT_RULES_DEVICE] = { "device_parsers", { { "device_replacement", 1 } } },
};

/* --- the file --- */

struct loading {
	struct user_agent_rules *rules;
	yaml_document_t yaml;
	struct strbuf *problem;
};

/* ERR_INVALID, with a line of the file and its problem. */
static enum err refuse(struct loading *loading, size_t line, const char *problem)
{
	strbuf_add_format(loading->problem, "line %zu: %s", line + 1, problem);
	return ERR_INVALID;
}

/* NULL for something else than a text. */
static const char *text_of(struct loading *loading, int index)
{
	const yaml_node_t *node = yaml_document_get_node(&loading->yaml, index);
	return node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

/* The text of the field, or NULL. */
static const char *field_of(struct loading *loading, const yaml_node_t *record, const char *name)
{
	const yaml_node_pair_t *pair = record->data.mapping.pairs.start;
	for (; pair < record->data.mapping.pairs.top; pair++) {
		const char *key = text_of(loading, pair->key);
		if (key && strcmp(key, name) == 0)
			return text_of(loading, pair->value);
	}
	return NULL;
}

/*
 * Matches characters, not bytes, so that no field ends inside a character. \d and \w match only
 * ASCII, as in the languages for which the rules are written.
 */
static enum err compile(struct loading *loading, const yaml_node_t *record, pcre2_code **out)
{
	const char *regex = field_of(loading, record, "regex");
	if (!regex)
		return refuse(loading, record->start_mark.line, "the rule has no regex");
	const char *flag = field_of(loading, record, "regex_flag");
	uint32_t options = PCRE2_UTF | (flag && strchr(flag, 'i') ? PCRE2_CASELESS : 0);
	int error = 0;
	PCRE2_SIZE at = 0;
	*out = pcre2_compile((PCRE2_SPTR)regex, PCRE2_ZERO_TERMINATED, options, &error, &at, NULL);
	if (!*out) {
		char message[128] = "";
		pcre2_get_error_message(error, (PCRE2_UCHAR *)message, sizeof(message));
		return refuse(loading, record->start_mark.line, message);
	}
	/* Without a JIT the rules work too, but more slowly. */
	(void)pcre2_jit_compile(*out, PCRE2_JIT_COMPLETE);
	return OK;
}

static enum err add_rule(struct loading *loading, enum user_agent_rules_list l,
                         const yaml_node_t *record)
{
	struct list *list = &loading->rules->lists[l];
	struct rule rule = { 0 };
	if (record->type != YAML_MAPPING_NODE)
		return refuse(loading, record->start_mark.line, "the rule is no mapping");
	if (list->count == RULES_MAX)
		return refuse(loading, record->start_mark.line, "too many rules");
	enum err err = compile(loading, record, &rule.code);
	if (err != OK)
		return err;
	for (size_t f = 0; f < USER_AGENT_RULES_FIELDS_MAX && shapes[l].fields[f].replacement;
	     f++) {
		const char *replacement =
			field_of(loading, record, shapes[l].fields[f].replacement);
		rule.replacements[f] = replacement ? mem_text(replacement) : NULL;
	}
	rule.is_spider = rule.replacements[0] && strcmp(rule.replacements[0], "Spider") == 0;
	list->rules = mem_resize(list->rules, list->count + 1, sizeof(*list->rules));
	list->rules[list->count++] = rule;
	return OK;
}

/* name: a list of the file. A later uap-core may add lists, which are ignored. */
static enum err add_list(struct loading *loading, const char *name, const yaml_node_t *list)
{
	enum user_agent_rules_list l = 0;
	enum err err = OK;
	while (l < USER_AGENT_RULES_LISTS && (!name || strcmp(shapes[l].name, name) != 0))
		l++;
	if (l == USER_AGENT_RULES_LISTS)
		return OK;
	if (list->type != YAML_SEQUENCE_NODE)
		return refuse(loading, list->start_mark.line, "not a list of rules");
	for (const yaml_node_item_t *item = list->data.sequence.items.start;
	     err == OK && item < list->data.sequence.items.top; item++)
		err = add_rule(loading, l, yaml_document_get_node(&loading->yaml, *item));
	return err;
}

static enum err add_lists(struct loading *loading)
{
	const yaml_node_t *root = yaml_document_get_root_node(&loading->yaml);
	enum err err = OK;
	if (!root)
		return OK;
	if (root->type != YAML_MAPPING_NODE)
		return refuse(loading, root->start_mark.line, "not a mapping of lists of rules");
	for (const yaml_node_pair_t *pair = root->data.mapping.pairs.start;
	     err == OK && pair < root->data.mapping.pairs.top; pair++)
		err = add_list(loading, text_of(loading, pair->key),
		               yaml_document_get_node(&loading->yaml, pair->value));
	return err;
}

/* Adds the rules of an open file, or of a text if file is NULL. */
static enum err add_rules(struct user_agent_rules *rules, FILE *file, const char *text, size_t len,
                          struct strbuf *problem)
{
	struct loading loading = { .rules = rules, .problem = problem };
	yaml_parser_t parser;
	if (!yaml_parser_initialize(&parser))
		abort();
	if (file)
		yaml_parser_set_input_file(&parser, file);
	else
		yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	enum err err;
	if (yaml_parser_load(&parser, &loading.yaml)) {
		err = add_lists(&loading);
		yaml_document_delete(&loading.yaml);
	} else {
		err = refuse(&loading, parser.problem_mark.line,
		             parser.problem ? parser.problem : "cannot be read");
	}
	yaml_parser_delete(&parser);
	return err;
}

static enum err add_file(struct user_agent_rules *rules, const char *path, struct strbuf *problem)
{
	FILE *file = fopen(path, "rb");
	if (!file) {
		strbuf_add_text(problem, strerrordesc_np(errno));
		return ERR_NOT_FOUND;
	}
	enum err err = add_rules(rules, file, NULL, 0, problem);
	fclose(file);
	return err;
}

static struct user_agent_rules *rules_new(void)
{
	struct user_agent_rules *rules = mem_zero(sizeof(*rules));
	rules->match = pcre2_match_data_create(GROUPS_MAX, NULL);
	rules->context = pcre2_match_context_create(NULL);
	rules->jit_stack = pcre2_jit_stack_create(JIT_STACK_START, JIT_STACK_MAX, NULL);
	pcre2_set_match_limit(rules->context, MATCH_LIMIT);
	pcre2_jit_stack_assign(rules->context, NULL, rules->jit_stack);
	return rules;
}

enum err user_agent_rules_load(const char *path, struct user_agent_rules **out,
                               struct strbuf *problem)
{
	struct user_agent_rules *rules = rules_new();
	size_t own[USER_AGENT_RULES_LISTS];
	enum err err = add_rules(rules, NULL, user_agent_data_additions,
	                         user_agent_data_additions_size, problem);
	for (size_t l = 0; l < USER_AGENT_RULES_LISTS; l++)
		own[l] = rules->lists[l].count;
	if (err == OK && path[0] == '\0')
		err = add_rules(rules, NULL, user_agent_data_rules, user_agent_data_rules_size,
		                problem);
	else if (err == OK)
		err = add_file(rules, path, problem);
	for (size_t l = 0; err == OK && l < USER_AGENT_RULES_LISTS; l++) {
		if (rules->lists[l].count == own[l]) {
			strbuf_add_format(problem, "no rules in %s", shapes[l].name);
			err = ERR_INVALID;
		}
	}
	if (err == OK)
		*out = rules;
	else
		user_agent_rules_free(rules);
	return err;
}

static void free_list(struct list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		pcre2_code_free(list->rules[i].code);
		for (size_t f = 0; f < USER_AGENT_RULES_FIELDS_MAX; f++)
			free(list->rules[i].replacements[f]);
	}
	free(list->rules);
}

void user_agent_rules_free(struct user_agent_rules *rules)
{
	if (!rules)
		return;
	for (size_t i = 0; i < USER_AGENT_RULES_LISTS; i++)
		free_list(&rules->lists[i]);
	pcre2_match_data_free(rules->match);
	pcre2_match_context_free(rules->context);
	pcre2_jit_stack_free(rules->jit_stack);
	free(rules);
}

size_t user_agent_rules_count(const struct user_agent_rules *rules)
{
	size_t count = 0;
	for (size_t i = 0; i < USER_AGENT_RULES_LISTS; i++)
		count += rules->lists[i].count;
	return count;
}

/* --- matching --- */

/* A field under construction. Longer than a field, so that it is trimmed before it is cut. */
struct draft {
	char text[2 * USER_AGENT_RULES_FIELD_SIZE];
	size_t len;
};

static void draft_add(struct draft *draft, const char *text, size_t len)
{
	size_t room = sizeof(draft->text) - draft->len;
	size_t fits = utf8_prefix(text, len, room);
	memcpy(draft->text + draft->len, text, fits);
	draft->len += fits;
}

/* The groups of a match. */
struct groups {
	const char *text;
	const PCRE2_SIZE *ends;
	int count;
};

static void draft_add_group(struct draft *draft, const struct groups *groups, int group)
{
	if (group >= groups->count || groups->ends[2 * group] == PCRE2_UNSET)
		return;
	draft_add(draft, groups->text + groups->ends[2 * group],
	          groups->ends[2 * group + 1] - groups->ends[2 * group]);
}

static void draft_add_replacement(struct draft *draft, const struct groups *groups,
                                  const char *replacement)
{
	for (const char *c = replacement; *c;) {
		if (c[0] == '$' && c[1] >= '1' && c[1] <= '9') {
			draft_add_group(draft, groups, c[1] - '0');
			c += 2;
			continue;
		}
		size_t plain = 1 + strcspn(c + 1, "$");
		draft_add(draft, c, plain);
		c += plain;
	}
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static void finish(const struct draft *draft, char out[static USER_AGENT_RULES_FIELD_SIZE])
{
	size_t first = 0;
	size_t end = draft->len;
	while (first < end && is_space(draft->text[first]))
		first++;
	while (end > first && is_space(draft->text[end - 1]))
		end--;
	size_t len = utf8_prefix(draft->text + first, end - first, USER_AGENT_RULES_FIELD_SIZE - 1);
	memcpy(out, draft->text + first, len);
	out[len] = '\0';
}

static void fill(const struct rule *rule, const struct shape *shape, const struct groups *groups,
                 struct user_agent_match *out)
{
	for (size_t f = 0; f < USER_AGENT_RULES_FIELDS_MAX && shape->fields[f].replacement; f++) {
		struct draft draft = { .len = 0 };
		if (rule->replacements[f])
			draft_add_replacement(&draft, groups, rule->replacements[f]);
		else
			draft_add_group(&draft, groups, shape->fields[f].group);
		finish(&draft, out->fields[f]);
	}
}

/* pcre2_match's result: negative if the rule does not match. */
static int match_rule(const struct user_agent_rules *rules, const struct rule *rule,
                      const char *text, size_t len)
{
	/*
	 * The text is known to be valid. Checking it for each of a thousand rules costs more than
	 * most matches.
	 */
	return pcre2_match(rule->code, (PCRE2_SPTR)text, len, 0, PCRE2_NO_UTF_CHECK, rules->match,
	                   rules->context);
}

void user_agent_rules_match(struct user_agent_rules *rules, enum user_agent_rules_list list,
                            const char *text, size_t len, struct user_agent_match *out)
{
	for (size_t f = 0; f < USER_AGENT_RULES_FIELDS_MAX; f++)
		out->fields[f][0] = '\0';
	for (size_t i = 0; i < rules->lists[list].count; i++) {
		const struct rule *rule = &rules->lists[list].rules[i];
		int count = match_rule(rules, rule, text, len);
		if (count < 0)
			continue;
		struct groups groups = { .text = text,
			                 .ends = pcre2_get_ovector_pointer(rules->match),
			                 .count = count > 0 ? count : GROUPS_MAX };
		fill(rule, &shapes[list], &groups, out);
		break;
	}
	if (out->fields[0][0] == '\0')
		memcpy(out->fields[0], "Other", sizeof("Other"));
}

/* The few rules for spiders go first: the others matter only if one of those matches. */
bool user_agent_rules_is_spider(struct user_agent_rules *rules, const char *text, size_t len)
{
	const struct list *list = &rules->lists[USER_AGENT_RULES_DEVICE];
	size_t first = 0;
	while (first < list->count && !(list->rules[first].is_spider &&
	                                match_rule(rules, &list->rules[first], text, len) >= 0))
		first++;
	if (first == list->count)
		return false;
	for (size_t i = 0; i < first; i++)
		if (!list->rules[i].is_spider && match_rule(rules, &list->rules[i], text, len) >= 0)
			return false;
	return true;
}
