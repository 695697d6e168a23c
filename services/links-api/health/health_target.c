#include "services/links-api/health/health_target.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/array.h"
#include "lib/base/url.h"

#define SEPARATORS ", \t\r\n"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define ENTRY_SIZE 320

/* Copies len bytes if they fit, are not empty and consist of the given characters. */
static bool take(const char *text, size_t len, const char *characters, char *out, size_t size)
{
	if (len == 0 || len >= size || strspn(text, characters) < len)
		return false;
	memcpy(out, text, len);
	out[len] = '\0';
	return true;
}

static bool is_address(int family, const char *text)
{
	unsigned char address[sizeof(struct in6_addr)];
	return inet_pton(family, text, address) == 1;
}

static bool take_host(const char *text, size_t len, struct health_target *out)
{
	if (len > 2 && text[0] == '[' && text[len - 1] == ']')
		return take(text + 1, len - 2, DIGITS "abcdefABCDEF:.", out->host,
		            sizeof(out->host)) &&
		       is_address(AF_INET6, out->host);
	if (!take(text, len, LOWER UPPER DIGITS ".-_", out->host, sizeof(out->host)))
		return false;
	/* The last label of a name is never a number. */
	const char *dot = strrchr(out->host, '.');
	const char *last = dot ? dot + 1 : out->host;
	return last[0] == '\0' || last[strspn(last, DIGITS)] != '\0' ||
	       is_address(AF_INET, out->host);
}

enum err health_target_parse(const char *entry, struct health_target *out)
{
	struct health_target read;
	struct url url;
	uint16_t port;
	size_t name_len = strcspn(entry, "=");
	const char *text = entry + name_len + (entry[name_len] == '=');
	if (!take(entry, name_len, LOWER DIGITS "-", read.name, sizeof(read.name)) ||
	    strncmp(text, "http://", 7) != 0 || url_split(text, strlen(text), &url) != OK ||
	    url.user.text || !take_host(url.host.text, url.host.len, &read) ||
	    url_port(url.port, &port) != OK ||
	    !take(url.port.text, url.port.len, DIGITS, read.port, sizeof(read.port)))
		return ERR_INVALID;
	bool has_path =
		url.path.text[0] == '/' ? url.path.text[1] != '\0' : url.path.text[0] != '\0';
	if (has_path)
		return ERR_INVALID;
	*out = read;
	return OK;
}

bool health_target_is_service(const char *name)
{
	static const char *const services[] = { "redirector", "links-api", "analytics-consumer",
		                                "janitor" };
	for (size_t i = 0; i < ARRAY_SIZE(services); i++)
		if (strcmp(services[i], name) == 0)
			return true;
	return false;
}

enum err health_target_parse_list(const char *list,
                                  struct health_target targets[static HEALTH_TARGETS_MAX],
                                  size_t *count)
{
	*count = 0;
	for (list += strspn(list, SEPARATORS); *list; list += strspn(list, SEPARATORS)) {
		char entry[ENTRY_SIZE];
		size_t len = strcspn(list, SEPARATORS);
		if (*count == HEALTH_TARGETS_MAX)
			return ERR_LIMIT;
		if (len >= sizeof(entry))
			return ERR_INVALID;
		memcpy(entry, list, len);
		entry[len] = '\0';
		enum err err = health_target_parse(entry, &targets[*count]);
		if (err != OK)
			return err;
		(*count)++;
		list += len;
	}
	return OK;
}
