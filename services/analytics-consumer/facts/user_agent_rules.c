#include "services/analytics-consumer/facts/user_agent_rules.h"

#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "lib/base/mem.h"
#include "lib/base/utf8.h"
#include "services/analytics-consumer/facts/yaml_records.h"

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

static void add_compile_problem(struct strbuf *problem, const struct yaml_record *record, int code)
{
	char message[128] = "";
	pcre2_get_error_message(code, (PCRE2_UCHAR *)message, sizeof(message));
	strbuf_add_format(problem, "line %zu: %s", record->line, message);
}

/*
 * Matches characters, not bytes, so that no field ends inside a character. \d and \w match only
 * ASCII, as in the languages for which the rules are written.
 */
static enum err compile(const struct yaml_record *record, struct strbuf *problem, pcre2_code **out)
{
	const char *regex = yaml_records_value(record, "regex");
	if (!regex) {
		strbuf_add_format(problem, "line %zu: the rule has no regex", record->line);
		return ERR_INVALID;
	}
	const char *flag = yaml_records_value(record, "regex_flag");
	uint32_t options = PCRE2_UTF | (flag && strchr(flag, 'i') ? PCRE2_CASELESS : 0);
	int error = 0;
	PCRE2_SIZE at = 0;
	pcre2_code *code =
		pcre2_compile((PCRE2_SPTR)regex, PCRE2_ZERO_TERMINATED, options, &error, &at, NULL);
	if (!code) {
		add_compile_problem(problem, record, error);
		return ERR_INVALID;
	}
	/* Without a JIT the rules work too, but more slowly. */
	(void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
	*out = code;
	return OK;
}

struct loading {
	struct user_agent_rules *rules;
	struct strbuf *problem;
};

static enum err add_rule(void *ctx, const struct yaml_record *record)
{
	const struct loading *loading = ctx;
	size_t i = 0;
	while (i < USER_AGENT_RULES_LISTS && strcmp(shapes[i].name, record->list) != 0)
		i++;
	if (i == USER_AGENT_RULES_LISTS)
		return OK; /* a later uap-core may add lists */
	struct list *list = &loading->rules->lists[i];
	if (list->count == RULES_MAX) {
		strbuf_add_format(loading->problem, "more than %d rules", RULES_MAX);
		return ERR_INVALID;
	}
	struct rule rule = { 0 };
	enum err err = compile(record, loading->problem, &rule.code);
	if (err != OK)
		return err;
	for (size_t f = 0; f < USER_AGENT_RULES_FIELDS_MAX && shapes[i].fields[f].replacement;
	     f++) {
		const char *replacement =
			yaml_records_value(record, shapes[i].fields[f].replacement);
		rule.replacements[f] = replacement ? mem_text(replacement) : NULL;
	}
	rule.is_spider = rule.replacements[0] && strcmp(rule.replacements[0], "Spider") == 0;
	list->rules = mem_resize(list->rules, list->count + 1, sizeof(*list->rules));
	list->rules[list->count++] = rule;
	return OK;
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
	struct loading loading = { .rules = rules, .problem = problem };
	enum err err = yaml_records_read(path, add_rule, &loading, problem);
	for (size_t i = 0; err == OK && i < USER_AGENT_RULES_LISTS; i++) {
		if (rules->lists[i].count == 0) {
			strbuf_add_format(problem, "no rules in %s", shapes[i].name);
			err = ERR_INVALID;
		}
	}
	if (err != OK) {
		user_agent_rules_free(rules);
		return err;
	}
	*out = rules;
	return OK;
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
