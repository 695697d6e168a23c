/*
 * Runs uap-core's own tests against our implementation of its rules. At least 99.9 % of the
 * browsers, systems and spiders must match. Prints the first misses.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "lib/visitors/user_agent_rules.h"
#include "tests/support/test.h"

#define CORPUS "/usr/share/uap-core"
#define MISSES_PER_10000_MAX 10
#define MISSES_PRINTED_MAX 20

struct corpus {
	struct user_agent_rules *rules;
	enum user_agent_rules_list list;
	size_t cases;
	size_t misses;
};

static const char *const field_names[USER_AGENT_RULES_DEVICE][USER_AGENT_RULES_FIELDS_MAX] = {
	{ "family", "major", "minor", "patch" },
	{ "family", "major", "minor", "patch", "patch_minor" },
};

static void print_miss(const char *user_agent, const char *field, const char *expected,
                       const char *found)
{
	printf("  %s\n    %s: expected '%s', found '%s'\n", user_agent, field, expected, found);
}

/* NULL: the record has no such field. */
static const char *value_of(yaml_document_t *yaml, const yaml_node_t *record, const char *name)
{
	const yaml_node_pair_t *pair = record->data.mapping.pairs.start;
	for (; pair < record->data.mapping.pairs.top; pair++) {
		const yaml_node_t *key = yaml_document_get_node(yaml, pair->key);
		const yaml_node_t *value = yaml_document_get_node(yaml, pair->value);
		if (strcmp((const char *)key->data.scalar.value, name) == 0)
			return (const char *)value->data.scalar.value;
	}
	return NULL;
}

static void try_case(struct corpus *corpus, yaml_document_t *yaml, const yaml_node_t *record)
{
	const char *user_agent = value_of(yaml, record, "user_agent_string");
	assert_non_null(user_agent);
	struct user_agent_match found;
	user_agent_rules_match(corpus->rules, corpus->list, user_agent, strlen(user_agent), &found);
	corpus->cases++;
	for (size_t f = 0; f < USER_AGENT_RULES_FIELDS_MAX && field_names[corpus->list][f]; f++) {
		const char *name = field_names[corpus->list][f];
		const char *expected = value_of(yaml, record, name);
		if (strcmp(expected ? expected : "", found.fields[f]) == 0)
			continue;
		if (corpus->misses++ < MISSES_PRINTED_MAX)
			print_miss(user_agent, name, expected ? expected : "", found.fields[f]);
		break;
	}
}

static void try_device(struct corpus *corpus, yaml_document_t *yaml, const yaml_node_t *record)
{
	const char *user_agent = value_of(yaml, record, "user_agent_string");
	const char *family = value_of(yaml, record, "family");
	bool is_spider = strcmp(family, "Spider") == 0;
	corpus->cases++;
	if (user_agent_rules_is_spider(corpus->rules, user_agent, strlen(user_agent)) !=
	            is_spider &&
	    corpus->misses++ < MISSES_PRINTED_MAX)
		print_miss(user_agent, "family", family, is_spider ? "no spider" : "Spider");
}

static void try_file(struct corpus *corpus, const char *path)
{
	yaml_parser_t parser;
	yaml_document_t yaml;
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	assert_true(yaml_parser_initialize(&parser));
	yaml_parser_set_input_file(&parser, file);
	assert_true(yaml_parser_load(&parser, &yaml));
	const yaml_node_t *root = yaml_document_get_root_node(&yaml);
	const yaml_node_t *cases =
		yaml_document_get_node(&yaml, root->data.mapping.pairs.start->value);
	const yaml_node_item_t *item = cases->data.sequence.items.start;
	for (; item < cases->data.sequence.items.top; item++) {
		const yaml_node_t *record = yaml_document_get_node(&yaml, *item);
		if (corpus->list == USER_AGENT_RULES_DEVICE)
			try_device(corpus, &yaml, record);
		else
			try_case(corpus, &yaml, record);
	}
	yaml_document_delete(&yaml);
	yaml_parser_delete(&parser);
	fclose(file);
}

static void run_corpus(void **state, const char *what, enum user_agent_rules_list list,
                       const char *const *files)
{
	struct corpus corpus = { .rules = *state, .list = list };
	for (size_t i = 0; files[i]; i++)
		try_file(&corpus, files[i]);
	printf("uap-core %s: %zu of %zu correct (%.3f %%)\n", what, corpus.cases - corpus.misses,
	       corpus.cases, 100.0 * (double)(corpus.cases - corpus.misses) / (double)corpus.cases);
	assert_true(corpus.cases > 100);
	assert_true(corpus.misses * 10000 <= corpus.cases * MISSES_PER_10000_MAX);
}

TEST_CASE(finds_the_browsers_of_the_corpus)
{
	static const char *const files[] = {
		CORPUS "/tests/test_ua.yaml",
		CORPUS "/test_resources/firefox_user_agent_strings.yaml",
		CORPUS "/test_resources/opera_mini_user_agent_strings.yaml",
		CORPUS "/test_resources/pgts_browser_list.yaml",
		CORPUS "/test_resources/podcasting_user_agent_strings.yaml",
		NULL
	};
	run_corpus(state, "browsers", USER_AGENT_RULES_BROWSER, files);
}

TEST_CASE(finds_the_systems_of_the_corpus)
{
	static const char *const files[] = { CORPUS "/tests/test_os.yaml",
		                             CORPUS "/test_resources/additional_os_tests.yaml",
		                             NULL };
	run_corpus(state, "systems", USER_AGENT_RULES_OS, files);
}

TEST_CASE(tells_the_spiders_of_the_corpus_from_devices)
{
	static const char *const files[] = { CORPUS "/tests/test_device.yaml", NULL };
	run_corpus(state, "devices", USER_AGENT_RULES_DEVICE, files);
}

static int load_rules(void **state)
{
	struct strbuf problem;
	strbuf_init(&problem, 1000);
	struct user_agent_rules *rules = NULL;
	enum err err = user_agent_rules_load(CORPUS "/regexes.yaml", &rules, &problem);
	if (err != OK)
		printf("%s\n", problem.data);
	strbuf_clear(&problem);
	*state = rules;
	return err == OK ? 0 : -1;
}

static int free_rules(void **state)
{
	user_agent_rules_free(*state);
	return 0;
}

TEST_MAIN(.group_set_up = load_rules, .group_tear_down = free_rules)
