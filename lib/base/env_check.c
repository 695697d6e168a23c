#include "lib/base/env_check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/client_ip.h"
#include "lib/base/number.h"
#include "lib/base/utf8.h"

#define SEPARATORS ", \t\r\n"
#define SHOWN_SIZE 65
#define ENTRY_SIZE 512
#define PATH_SIZE 1024
#define PORT_SIZE 6
#define HOST_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
#define ADDRESS_CHARACTERS "0123456789abcdefABCDEF:."

size_t env_check_reject(const char *name, const char *part, size_t part_len, const char *reason,
                        struct strbuf *problems)
{
	char shown[SHOWN_SIZE];
	utf8_copy_clean(part, part_len, shown, sizeof(shown));
	strbuf_add_format(problems, "%s: \"%s\" %s\n", name, shown, reason);
	return 1;
}

size_t env_check_entries(const char *list, bool (*is_valid)(const char *entry), const char *name,
                         const char *reason, struct strbuf *problems)
{
	for (list += strspn(list, SEPARATORS); *list; list += strspn(list, SEPARATORS)) {
		size_t len = strcspn(list, SEPARATORS);
		char entry[ENTRY_SIZE];
		if (len >= sizeof(entry))
			return env_check_reject(name, list, len, "is too long", problems);
		memcpy(entry, list, len);
		entry[len] = '\0';
		if (!is_valid(entry))
			return env_check_reject(name, list, len, reason, problems);
		list += len;
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
		strbuf_add_format(problems, "%s: has more than %d networks\n", name,
		                  CLIENT_IP_RANGES_MAX);
		wrong = 1;
	}
	return wrong;
}

static size_t reject_path(const char *path, const char *name, const char *what, int error,
                          struct strbuf *problems)
{
	strbuf_add_format(problems, "%s: %s %s: %s\n", name, path, what, strerrordesc_np(error));
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

static size_t host_len(const char *host)
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
	size_t len = host_len(host);
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
	strbuf_add_format(problems, "%s: %lld is the port of %s too: choose another one\n", name,
	                  (long long)port, other_name);
	return 1;
}
