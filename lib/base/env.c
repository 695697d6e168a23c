#include "lib/base/env.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/base/number.h"
#include "lib/base/utf8.h"

#define NAME_MAX_SIZE 128
#define FILE_SUFFIX "_FILE"
#define SHOWN_SIZE 65

struct value {
	/* Owned; NULL if not found: the problem has been reported. */
	char *text;
	bool is_fallback;
};

static const char *get_nonempty(const char *name)
{
	const char *text = getenv(name);
	return text && *text ? text : NULL;
}

static void add_problem(struct strbuf *problems, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void add_problem(struct strbuf *problems, const char *name, const char *format, ...)
{
	strbuf_add_format(problems, "%s: ", name);
	va_list args;
	va_start(args, format);
	strbuf_add_vformat(problems, format, args);
	va_end(args);
	strbuf_add_char(problems, '\n');
}

static size_t value_size_max(const struct env_var *var)
{
	bool is_text = var->type == ENV_TYPE_TEXT || var->type == ENV_TYPE_SECRET;
	return is_text ? var->size : NUMBER_TEXT_SIZE;
}

/* The content of the file without its trailing newline, or NULL. */
static char *read_file(const struct env_var *var, const char *file_name, const char *path,
                       struct strbuf *problems)
{
	FILE *file = fopen(path, "re");
	if (!file) {
		add_problem(problems, file_name, "cannot open %s: %s", path,
		            strerrordesc_np(errno));
		return NULL;
	}
	/* One byte for the newline, and one to detect that the file is longer. */
	size_t size = value_size_max(var) + 2;
	char *text = mem_zero(size + 1);
	size_t len = fread(text, 1, size, file);
	bool failed = ferror(file) != 0;
	int reason = errno;
	fclose(file);
	if (len > 0 && text[len - 1] == '\n')
		text[--len] = '\0';

	if (failed)
		add_problem(problems, file_name, "cannot read %s: %s", path,
		            strerrordesc_np(reason));
	else if (len == 0)
		add_problem(problems, file_name, "%s is empty", path);
	else if (strlen(text) != len)
		add_problem(problems, file_name, "%s contains a NUL byte", path);
	else if (len > value_size_max(var))
		add_problem(problems, file_name, "%s is longer than the %zu bytes allowed", path,
		            value_size_max(var));
	else
		return text;
	free(text);
	return NULL;
}

static struct value find_value(const struct env_var *var, struct strbuf *problems)
{
	char file_name[NAME_MAX_SIZE];
	if (!var->name)
		return (struct value){ mem_text(var->fallback), true };
	snprintf(file_name, sizeof(file_name), "%s" FILE_SUFFIX, var->name);
	const char *direct = get_nonempty(var->name);
	const char *path = get_nonempty(file_name);

	struct value value = { 0 };
	if (direct && path) {
		add_problem(problems, var->name, "is set together with %s: set only one of them",
		            file_name);
	} else if (path) {
		value.text = read_file(var, file_name, path, problems);
	} else if (direct) {
		value.text = mem_text(direct);
	} else if (var->fallback) {
		value.text = mem_text(var->fallback);
		value.is_fallback = true;
	} else {
		add_problem(problems, var->name, "is required");
	}
	return value;
}

/* The store functions return true if the value is valid, and else report what is wrong with it. */

static bool store_text(const struct env_var *var, const struct value *value, char *member,
                       struct strbuf *problems)
{
	size_t len = strlen(value->text);
	size_t max = (size_t)var->max < var->size ? (size_t)var->max : var->size - 1;
	if (len > max) {
		add_problem(problems, var->name, "has %zu bytes, but at most %zu are allowed", len,
		            max);
		return false;
	}
	/* A default may be shorter: "" means "switched off". */
	if (len < (size_t)var->min && !value->is_fallback) {
		add_problem(problems, var->name,
		            "has %zu bytes, but at least %" PRId64 " are needed", len, var->min);
		return false;
	}
	memcpy(member, value->text, len + 1);
	return true;
}

/* Shows the value: not for secrets. */
static bool reject(const struct env_var *var, const char *text, const char *reason,
                   struct strbuf *problems)
{
	char shown[SHOWN_SIZE];
	utf8_copy_clean(text, strlen(text), shown, sizeof(shown));
	add_problem(problems, var->name, "\"%s\" %s", shown, reason);
	return false;
}

static bool store_int(const struct env_var *var, const char *text, int64_t *member,
                      struct strbuf *problems)
{
	enum err err = number_parse(text, var->min, var->max, member);
	if (err == OK)
		return true;
	if (err != ERR_LIMIT)
		return reject(var, text, "is not a whole number", problems);
	char shown[SHOWN_SIZE];
	utf8_copy_clean(text, strlen(text), shown, sizeof(shown));
	add_problem(problems, var->name, "%s is not between %" PRId64 " and %" PRId64, shown,
	            var->min, var->max);
	return false;
}

static bool store_bool(const struct env_var *var, const char *text, bool *member,
                       struct strbuf *problems)
{
	bool is_true = strcmp(text, "true") == 0;
	if (!is_true && strcmp(text, "false") != 0)
		return reject(var, text, "is neither true nor false", problems);
	*member = is_true;
	return true;
}

static bool store_log_level(const struct env_var *var, const char *text, enum log_level *member,
                            struct strbuf *problems)
{
	return log_level_parse(text, member) ||
	       reject(var, text, "is not one of debug, info, warning, error", problems);
}

static bool store(const struct env_var *var, const struct value *value, void *member,
                  struct strbuf *problems)
{
	switch (var->type) {
	case ENV_TYPE_INT:
		return store_int(var, value->text, member, problems);
	case ENV_TYPE_BOOL:
		return store_bool(var, value->text, member, problems);
	case ENV_TYPE_LOG_LEVEL:
		return store_log_level(var, value->text, member, problems);
	case ENV_TYPE_TEXT:
	case ENV_TYPE_SECRET:
	case ENV_TYPE_GROUP:
		break;
	}
	return store_text(var, value, member, problems);
}

size_t env_read(const struct env_var *vars, size_t count, void *config, struct strbuf *problems)
{
	size_t wrong = 0;
	for (size_t i = 0; i < count; i++) {
		if (vars[i].type == ENV_TYPE_GROUP)
			continue;
		struct value value = find_value(&vars[i], problems);
		if (!value.text ||
		    !store(&vars[i], &value, (char *)config + vars[i].offset, problems))
			wrong++;
		free(value.text);
	}
	return wrong;
}

size_t env_expect(bool right, const char *name, const char *reason, struct strbuf *problems)
{
	if (right)
		return 0;
	add_problem(problems, name, "%s", reason);
	return 1;
}

static int column_width(const struct env_var *vars, size_t count, bool of_names)
{
	size_t width = strlen("required");
	for (size_t i = 0; i < count; i++) {
		const char *text = of_names ? vars[i].name : vars[i].fallback;
		bool is_shown = vars[i].name && vars[i].type != ENV_TYPE_GROUP;
		size_t len = text && is_shown ? strlen(text) : 0;
		if (len > width)
			width = len;
	}
	return (int)width;
}

void env_print_help(const struct env_var *vars, size_t count, FILE *out)
{
	int name_width = column_width(vars, count, true);
	int fallback_width = column_width(vars, count, false);
	for (size_t i = 0; i < count; i++) {
		if (!vars[i].name)
			continue;
		if (vars[i].type == ENV_TYPE_GROUP) {
			fprintf(out, "%s%s:\n", i > 0 ? "\n" : "", vars[i].name);
			continue;
		}
		const char *fallback = vars[i].fallback;
		if (!fallback)
			fallback = "required";
		else if (!*fallback)
			fallback = "-";
		fprintf(out, "  %-*s  %-*s  %s\n", name_width, vars[i].name, fallback_width,
		        fallback, vars[i].help);
	}
}
