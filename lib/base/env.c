#include "lib/base/env.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/client_ip.h"
#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/base/number.h"
#include "lib/base/utf8.h"

#define NAME_MAX_SIZE 128
#define FILE_SUFFIX "_FILE"
#define SHOWN_SIZE 65
#define SEPARATORS ", \t\r\n"
#define ENTRY_SIZE 512
#define PATH_SIZE 1024
#define PORT_SIZE 6
#define HOST_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
#define ADDRESS_CHARACTERS "0123456789abcdefABCDEF:."

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
	return env_check_reject(var->name, text, strlen(text), reason, problems) == 0;
}

static bool store_int(const struct env_var *var, const char *text, int64_t *member,
                      struct strbuf *problems)
{
	enum err err = number_parse(text, var->min, var->max, member);
	if (err == OK)
		return true;
	bool is_limit = var->type == ENV_TYPE_LIMIT;
	if (err != ERR_LIMIT)
		return reject(var, text,
		              is_limit ? "is neither a whole number nor " ENV_UNLIMITED_WORD
		                       : "is not a whole number",
		              problems);
	char shown[SHOWN_SIZE];
	utf8_copy_clean(text, strlen(text), shown, sizeof(shown));
	add_problem(problems, var->name, "%s is not between %" PRId64 " and %" PRId64 "%s", shown,
	            var->min, var->max,
	            is_limit ? "; write " ENV_UNLIMITED_WORD " for no limit" : "");
	return false;
}

static bool store_limit(const struct env_var *var, const char *text, int64_t *member,
                        struct strbuf *problems)
{
	if (strcmp(text, ENV_UNLIMITED_WORD) != 0)
		return store_int(var, text, member, problems);
	*member = ENV_UNLIMITED;
	return true;
}

static bool store_bool(const struct env_var *var, const char *text, bool *member,
                       struct strbuf *problems)
{
	bool is_switch = var->type == ENV_TYPE_SWITCH;
	bool is_true = strcmp(text, is_switch ? "on" : "true") == 0;
	if (!is_true && strcmp(text, is_switch ? "off" : "false") != 0)
		return reject(var, text,
		              is_switch ? "is neither on nor off" : "is neither true nor false",
		              problems);
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
	case ENV_TYPE_LIMIT:
		return store_limit(var, value->text, member, problems);
	case ENV_TYPE_BOOL:
	case ENV_TYPE_SWITCH:
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

/* --- checks that the table cannot express --- */

size_t env_check_reject(const char *name, const char *part, size_t part_len, const char *reason,
                        struct strbuf *problems)
{
	char shown[SHOWN_SIZE];
	utf8_copy_clean(part, part_len, shown, sizeof(shown));
	add_problem(problems, name, "\"%s\" %s", shown, reason);
	return 1;
}

size_t env_next_entry(const char **list)
{
	*list += strspn(*list, SEPARATORS);
	return strcspn(*list, SEPARATORS);
}

size_t env_check_entries(const char *list, bool (*is_valid)(const char *entry), const char *name,
                         const char *reason, struct strbuf *problems)
{
	for (size_t len; (len = env_next_entry(&list)) > 0; list += len) {
		char entry[ENTRY_SIZE];
		if (len >= sizeof(entry))
			return env_check_reject(name, list, len, "is too long", problems);
		memcpy(entry, list, len);
		entry[len] = '\0';
		if (!is_valid(entry))
			return env_check_reject(name, list, len, reason, problems);
	}
	return 0;
}

static bool is_network(const char *entry)
{
	struct client_ip_ranges ranges;
	return client_ip_ranges_parse(entry, &ranges) == OK;
}

static bool is_part_of_the_internet(const char *entry)
{
	struct client_ip_ranges all, ranges;
	return client_ip_ranges_parse("0.0.0.0/0", &all) == OK &&
	       client_ip_ranges_parse(entry, &ranges) == OK && ranges.count == 1 &&
	       ranges.range[0].prefix > 0 &&
	       memcmp(&ranges.range[0], &all.range[0], sizeof(all.range[0])) != 0;
}

/* 10.0.0.5/8 may mean one proxy or all of 10.0.0.0/8. */
static bool has_no_host_bits(const char *entry)
{
	struct client_ip_ranges ranges;
	struct client_ip address;
	return client_ip_ranges_parse(entry, &ranges) == OK && ranges.count == 1 &&
	       client_ip_parse(entry, strcspn(entry, "/"), &address) == OK &&
	       memcmp(ranges.range[0].bytes, address.bytes, sizeof(address.bytes)) == 0;
}

size_t env_check_networks(const char *list, const char *name, struct strbuf *problems)
{
	struct client_ip_ranges ranges;
	size_t wrong = env_check_entries(list, is_network, name, "is not a network like 10.0.0.0/8",
	                                 problems);
	if (wrong == 0)
		wrong = env_check_entries(list, is_part_of_the_internet, name,
		                          "has all addresses: each client could claim any of them",
		                          problems);
	if (wrong == 0)
		wrong = env_check_entries(list, has_no_host_bits, name,
		                          "is an address inside a network: write the network, like "
		                          "10.0.0.0/8, or the address without a prefix",
		                          problems);
	if (wrong == 0 && client_ip_ranges_parse(list, &ranges) != OK) {
		add_problem(problems, name, "has more than %d networks", CLIENT_IP_RANGES_MAX);
		wrong = 1;
	}
	return wrong;
}

static size_t reject_path(const char *path, const char *name, const char *what, int error,
                          struct strbuf *problems)
{
	add_problem(problems, name, "%s %s: %s", path, what, strerrordesc_np(error));
	return 1;
}

size_t env_check_file(const char *path, const char *name, struct strbuf *problems)
{
	if (path[0] == '\0')
		return 0;
	FILE *file = fopen(path, "re");
	if (!file)
		return reject_path(path, name, "cannot be read", errno, problems);
	/* A directory can be opened, but not read. */
	errno = 0;
	(void)fgetc(file);
	int error = ferror(file) ? errno : 0;
	fclose(file);
	return error ? reject_path(path, name, "cannot be read", error, problems) : 0;
}

/* The path of the folder that contains path, which may end in slashes. */
static void copy_parent(const char *path, char parent[static PATH_SIZE])
{
	size_t len = strlen(path);
	while (len > 1 && path[len - 1] == '/')
		len--;
	while (len > 0 && path[len - 1] != '/')
		len--;
	snprintf(parent, PATH_SIZE, "%.*s", len > 0 ? (int)len : 1, len > 0 ? path : ".");
}

size_t env_check_directory(const char *path, const char *name, struct strbuf *problems)
{
	struct stat found;
	if (stat(path, &found) == 0) {
		if (!S_ISDIR(found.st_mode))
			return reject_path(path, name, "cannot be used", ENOTDIR, problems);
		/* A file system that is read-only for now is an outage and no wrong value. */
		if (access(path, W_OK | X_OK) != 0 && errno != EROFS)
			return reject_path(path, name, "cannot be written", errno, problems);
		return 0;
	}
	if (errno != ENOENT)
		return reject_path(path, name, "cannot be used", errno, problems);
	char parent[PATH_SIZE];
	copy_parent(path, parent);
	if (access(parent, W_OK | X_OK) != 0)
		return reject_path(path, name, "cannot be created in its parent directory", errno,
		                   problems);
	return 0;
}

size_t env_check_one_of(const char *value, const char *choices, bool any_case, const char *name,
                        struct strbuf *problems)
{
	char reason[ENTRY_SIZE];
	size_t len = strlen(value);
	const char *at = choices;
	for (size_t choice_len; (choice_len = env_next_entry(&at)) > 0; at += choice_len) {
		if (len == choice_len && (any_case ? strncasecmp : strncmp)(value, at, len) == 0)
			return 0;
	}
	snprintf(reason, sizeof(reason), "is not one of %s", choices);
	return env_check_reject(name, value, len, reason, problems);
}

bool env_check_is_port(const char *text, size_t len)
{
	char digits[PORT_SIZE];
	int64_t port;
	if (len == 0 || len >= sizeof(digits))
		return false;
	memcpy(digits, text, len);
	digits[len] = '\0';
	return number_parse(digits, 1, UINT16_MAX, &port) == OK;
}

size_t env_check_host_len(const char *host)
{
	if (*host != '[')
		return strspn(host, HOST_CHARACTERS);
	size_t len = 1 + strspn(host + 1, ADDRESS_CHARACTERS);
	return len > 1 && host[len] == ']' ? len + 1 : 0;
}

size_t env_check_http_url(const char *url, const char *name, struct strbuf *problems)
{
	size_t scheme = strncmp(url, "https://", 8) == 0  ? 8
	                : strncmp(url, "http://", 7) == 0 ? 7
	                                                  : 0;
	if (scheme == 0)
		return env_check_reject(name, url, strlen(url), "must be an http or https URL",
		                        problems);
	for (const unsigned char *c = (const unsigned char *)url; *c; c++) {
		if (*c <= ' ' || *c >= 0x7f)
			return env_check_reject(
				name, url, strlen(url),
				"has a space, a control byte or a non-ASCII character: percent-encode it",
				problems);
	}
	const char *host = url + scheme;
	size_t authority = strcspn(host, "/?#");
	if (memchr(host, '@', authority))
		return env_check_reject(name, url, scheme, "must not have a user or a password",
		                        problems);
	size_t len = env_check_host_len(host);
	if (len == 0 || (host[len] != ':' && len != authority))
		return env_check_reject(name, host, authority, "is not a host", problems);
	if (len < authority && !env_check_is_port(host + len + 1, authority - len - 1))
		return env_check_reject(name, host + len + 1, authority - len - 1,
		                        "is not a port from 1 to 65535", problems);
	return 0;
}

size_t env_check_other_port(int64_t port, int64_t other, const char *name, const char *other_name,
                            struct strbuf *problems)
{
	if (port == 0 || port != other)
		return 0;
	add_problem(problems, name, "%lld is the port of %s too: choose another one",
	            (long long)port, other_name);
	return 1;
}
