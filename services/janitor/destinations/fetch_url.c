#include "services/janitor/destinations/fetch_url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/number.h"

static bool is_allowed_port(int64_t port)
{
	return port == 80 || port == 443 || port == 8080 || port == 8443;
}

/* False if the part is missing or too long. */
static bool read_part(CURLU *url, CURLUPart part, unsigned flags, char *out, size_t size)
{
	char *text = NULL;
	bool fits = curl_url_get(url, part, &text, flags) == CURLUE_OK &&
	            (size_t)snprintf(out, size, "%s", text) < size;
	curl_free(text);
	return fits;
}

/* "[fe80::1%eth0]" */
static bool has_zone_id(CURLU *url)
{
	char *zone = NULL;
	bool is_there = curl_url_get(url, CURLUPART_ZONEID, &zone, 0) == CURLUE_OK;
	curl_free(zone);
	return is_there;
}

static bool is_name(const char *host)
{
	size_t len = strlen(host);
	if (len == 0 || len > 253)
		return false;
	for (; *host; host++) {
		if (!isalnum((unsigned char)*host) && *host != '-' && *host != '_' && *host != '.')
			return false;
	}
	return true;
}

/* In place: lower case, without brackets and trailing dot. False if the host is invalid. */
static bool normalise_host(char *host)
{
	size_t len = strlen(host);
	for (size_t i = 0; i < len; i++)
		host[i] = (char)tolower((unsigned char)host[i]);
	if (host[0] == '[' && host[len - 1] == ']') {
		struct in6_addr address;
		host[len - 1] = '\0';
		memmove(host, host + 1, len - 1);
		return inet_pton(AF_INET6, host, &address) == 1;
	}
	if (len > 1 && host[len - 1] == '.')
		host[len - 1] = '\0';
	return is_name(host);
}

/* The request names the host in the form that was checked. */
static bool set_host(CURLU *url, const char *host)
{
	char text[FETCH_URL_HOST_SIZE + 2];
	snprintf(text, sizeof(text), strchr(host, ':') ? "[%s]" : "%s", host);
	return curl_url_set(url, CURLUPART_HOST, text, 0) == CURLUE_OK &&
	       curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0) == CURLUE_OK;
}

static enum err read_url(CURLU *url, struct fetch_url *out)
{
	char scheme[8], port[8];
	int64_t number = 0;
	if (!read_part(url, CURLUPART_SCHEME, 0, scheme, sizeof(scheme)) ||
	    !read_part(url, CURLUPART_HOST, 0, out->host, sizeof(out->host)) ||
	    !read_part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT, port, sizeof(port)) ||
	    !normalise_host(out->host) || has_zone_id(url) ||
	    number_parse(port, 1, UINT16_MAX, &number) != OK)
		return ERR_INVALID;
	out->is_https = strcmp(scheme, "https") == 0;
	if (!out->is_https && strcmp(scheme, "http") != 0)
		return ERR_INVALID;
	out->port = (uint16_t)number;
	if (!set_host(url, out->host) ||
	    !read_part(url, CURLUPART_URL, 0, out->url, sizeof(out->url)))
		return ERR_INVALID;
	return is_allowed_port(number) ? OK : ERR_LIMIT;
}

static bool has_forbidden_bytes(const char *url)
{
	for (; *url; url++) {
		if ((unsigned char)*url <= ' ' || *url == '\\' || *url == 0x7f)
			return true;
	}
	return false;
}

static enum err parse(const char *text, const char *path, struct fetch_url *out)
{
	CURLU *url = curl_url();
	struct fetch_url read = { 0 };
	enum err err = ERR_INVALID;
	if (url && curl_url_set(url, CURLUPART_URL, text, CURLU_DISALLOW_USER) == CURLUE_OK &&
	    (!path || (curl_url_set(url, CURLUPART_PATH, path, 0) == CURLUE_OK &&
	               curl_url_set(url, CURLUPART_QUERY, NULL, 0) == CURLUE_OK)))
		err = read_url(url, &read);
	curl_url_cleanup(url);
	if (err == OK)
		*out = read;
	return err;
}

enum err fetch_url_parse(const char *url, struct fetch_url *out)
{
	return has_forbidden_bytes(url) ? ERR_INVALID : parse(url, NULL, out);
}

enum err fetch_url_with_path(const struct fetch_url *url, const char *path, struct fetch_url *out)
{
	return parse(url->url, path, out);
}
