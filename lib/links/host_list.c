#include "lib/links/host_list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CHUNK_BYTES 16384

static enum err reject(char reason[static HOST_LIST_REASON_SIZE], const char *text)
{
	snprintf(reason, HOST_LIST_REASON_SIZE, "%s", text);
	return ERR_INVALID;
}

static enum err read_file(const char *path, struct strbuf *text,
                          char reason[static HOST_LIST_REASON_SIZE])
{
	FILE *file = fopen(path, "re");
	char chunk[CHUNK_BYTES];
	size_t len;
	bool failed = !file;
	while (!failed && (len = fread(chunk, 1, sizeof(chunk), file)) > 0 &&
	       strbuf_status(text) == OK)
		strbuf_add(text, chunk, len);
	failed = failed || ferror(file);
	int saved_errno = errno;
	if (file)
		fclose(file);
	if (!failed)
		return strbuf_status(text) == OK ? OK : reject(reason, "is too long");
	snprintf(reason, HOST_LIST_REASON_SIZE, "cannot be read: %s", strerrordesc_np(saved_errno));
	return ERR_UNAVAILABLE;
}

static enum err check_text(const struct strbuf *text, enum host_policy_kind kind,
                           char reason[static HOST_LIST_REASON_SIZE])
{
	size_t line = 0;
	struct host_policy *policy = host_policy_new();
	enum err err = host_policy_add_list(policy, kind, text->data, text->len, &line);
	size_t count = host_policy_count(policy);
	host_policy_free(policy);
	if (err == ERR_LIMIT || count > HOST_LIST_RULES_MAX)
		return reject(reason, "has too many hosts");
	if (err == OK && count == 0 && kind == HOST_POLICY_ALLOWLIST)
		return reject(reason, "does not allow any host");
	if (err != OK)
		snprintf(
			reason, HOST_LIST_REASON_SIZE,
			"line %zu is not a host: write example.com or .example.com, non-ASCII names as xn--…",
			line);
	return err;
}

enum err host_list_read(const char *path, enum host_policy_kind kind, struct strbuf *text,
                        char reason[static HOST_LIST_REASON_SIZE])
{
	enum err err = read_file(path, text, reason);
	return err == OK ? check_text(text, kind, reason) : err;
}

enum err host_list_check(const char *path, enum host_policy_kind kind,
                         char reason[static HOST_LIST_REASON_SIZE])
{
	if (path[0] == '\0')
		return OK;
	struct strbuf text;
	strbuf_init(&text, HOST_LIST_BYTES_MAX);
	enum err err = host_list_read(path, kind, &text, reason);
	strbuf_clear(&text);
	return err;
}

static size_t check_file(const char *path, const char *name, enum host_policy_kind kind,
                         struct strbuf *problems)
{
	char reason[HOST_LIST_REASON_SIZE] = "";
	return env_expect(host_list_check(path, kind, reason) == OK, name, reason, problems);
}

size_t host_list_check_files(const char *blocked, const char *allowed, struct strbuf *problems)
{
	return check_file(blocked, "BLOCKED_HOSTS_FILE", HOST_POLICY_BLOCKLIST, problems) +
	       check_file(allowed, "ALLOWED_HOSTS_FILE", HOST_POLICY_ALLOWLIST, problems);
}
