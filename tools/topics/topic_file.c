#include "tools/topics/topic_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/number.h"

#define FILE_BYTES_MAX (64 * 1024)
#define PARTITIONS_MAX 10000
#define BLANKS " \t"

/* Cuts the next word off *rest; NULL at the end of the line. */
static char *next_word(char **rest)
{
	char *word = *rest + strspn(*rest, BLANKS);
	if (*word == '\0')
		return NULL;
	char *end = word + strcspn(word, BLANKS);
	*rest = *end ? end + 1 : end;
	*end = '\0';
	return word;
}

static bool is_topic_name(const char *name)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t len = strlen(name);
	return len > 0 && len <= KAFKA_TOPIC_NAME_MAX && strspn(name, allowed) == len;
}

static bool is_listed(const struct topic_file *file, const char *name)
{
	for (size_t i = 0; i < file->count; i++) {
		if (strcmp(file->topics[i].name, name) == 0)
			return true;
	}
	return false;
}

/* Returns "" or the problem with the setting. The functions below do the same. */
static const char *add_setting(struct kafka_topic *topic, const char *word)
{
	if (topic->setting_count == KAFKA_TOPIC_SETTINGS_MAX)
		return "too many settings";
	struct kafka_topic_setting *setting = &topic->settings[topic->setting_count];
	const char *equals = strchr(word, '=');
	if (!equals || equals == word || equals[1] == '\0')
		return "a setting must be name=value";
	if ((size_t)(equals - word) >= sizeof(setting->name) ||
	    strlen(equals + 1) >= sizeof(setting->value))
		return "the name or value of a setting must not exceed 63 bytes";
	memcpy(setting->name, word, (size_t)(equals - word));
	memcpy(setting->value, equals + 1, strlen(equals + 1));
	topic->setting_count++;
	return "";
}

static const char *parse_topic(const struct topic_file *file, char *line, struct kafka_topic *topic)
{
	const char *name = next_word(&line);
	if (!is_topic_name(name))
		return "the first word must be a topic name";
	if (is_listed(file, name))
		return "the topic is listed twice";
	memcpy(topic->name, name, strlen(name));
	const char *partitions = next_word(&line);
	int64_t number = 0;
	if (!partitions || number_parse(partitions, 1, PARTITIONS_MAX, &number) != OK)
		return "the second word must be the number of partitions";
	topic->partitions = (int32_t)number;
	const char *problem = "";
	for (const char *word; *problem == '\0' && (word = next_word(&line)) != NULL;)
		problem = add_setting(topic, word);
	return problem;
}

static const char *parse_line(char *line, struct topic_file *file)
{
	line[strcspn(line, "#\r")] = '\0';
	if (line[strspn(line, BLANKS)] == '\0')
		return "";
	if (file->count == TOPIC_FILE_TOPICS_MAX)
		return "too many topics";
	struct kafka_topic topic = { .partitions = 0 };
	const char *problem = parse_topic(file, line, &topic);
	if (*problem == '\0')
		file->topics[file->count++] = topic;
	return problem;
}

enum err topic_file_parse(const char *text, struct topic_file *out, struct strbuf *problems)
{
	struct topic_file *file = mem_zero(sizeof(*file));
	char *copy = mem_text(text);
	char *rest = copy;
	size_t wrong = 0;
	for (int number = 1; rest != NULL; number++) {
		const char *problem = parse_line(strsep(&rest, "\n"), file);
		if (*problem != '\0') {
			strbuf_add_format(problems, "line %d: %s\n", number, problem);
			wrong++;
		}
	}
	if (wrong == 0)
		*out = *file;
	free(copy);
	free(file);
	return wrong == 0 ? OK : ERR_INVALID;
}

enum err topic_file_read(const char *path, struct topic_file *out, struct strbuf *problems)
{
	FILE *file = fopen(path, "re");
	if (!file) {
		strbuf_add_format(problems, "%s\n", strerrordesc_np(errno));
		return ERR_INVALID;
	}
	char *text = mem_zero(FILE_BYTES_MAX + 1);
	size_t len = fread(text, 1, FILE_BYTES_MAX, file);
	enum err result = ERR_INVALID;
	if (ferror(file) || !feof(file))
		strbuf_add_format(problems, "cannot be read, or exceeds %d bytes\n",
		                  FILE_BYTES_MAX);
	else if (strlen(text) != len)
		strbuf_add_text(problems, "contains a NUL byte\n");
	else
		result = topic_file_parse(text, out, problems);
	free(text);
	fclose(file);
	return result;
}

static bool has_setting(const struct kafka_topic *topic, const char *name)
{
	for (size_t i = 0; i < topic->setting_count; i++) {
		if (strcmp(topic->settings[i].name, name) == 0)
			return true;
	}
	return false;
}

enum err topic_file_set(struct topic_file *file, const char *name, int64_t value)
{
	for (size_t i = 0; i < file->count; i++) {
		struct kafka_topic *topic = &file->topics[i];
		if (has_setting(topic, name))
			continue;
		if (topic->setting_count == KAFKA_TOPIC_SETTINGS_MAX)
			return ERR_LIMIT;
		struct kafka_topic_setting *setting = &topic->settings[topic->setting_count++];
		snprintf(setting->name, sizeof(setting->name), "%s", name);
		snprintf(setting->value, sizeof(setting->value), "%" PRId64, value);
	}
	return OK;
}
