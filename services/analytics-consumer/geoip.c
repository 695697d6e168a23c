#include "services/analytics-consumer/geoip.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <maxminddb.h>
#include <netinet/in.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/utf8.h"

struct geoip {
	bool has_database;
	MMDB_s database;
};

enum err geoip_open(const char *path, const struct log *log, struct geoip **out)
{
	struct geoip *geoip = mem_zero(sizeof(*geoip));
	if (path[0] != '\0') {
		int status = MMDB_open(path, MMDB_MODE_MMAP, &geoip->database);
		if (status != MMDB_SUCCESS) {
			log_error(log, "geoip_database_unreadable", LOG_TEXT("path", path),
			          LOG_TEXT("message", MMDB_strerror(status)));
			free(geoip);
			return ERR_INVALID;
		}
		geoip->has_database = true;
	}
	*out = geoip;
	return OK;
}

void geoip_close(struct geoip *geoip)
{
	if (!geoip)
		return;
	if (geoip->has_database)
		MMDB_close(&geoip->database);
	free(geoip);
}

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static bool parse_network(const char *network, union address *out)
{
	char text[INET6_ADDRSTRLEN];
	size_t len = strcspn(network, "/");
	if (len >= sizeof(text))
		return false;
	memcpy(text, network, len);
	text[len] = '\0';
	*out = (union address){ 0 };
	if (inet_pton(AF_INET, text, &out->v4.sin_addr) == 1) {
		out->any.sa_family = AF_INET;
		return true;
	}
	out->any.sa_family = AF_INET6;
	return inet_pton(AF_INET6, text, &out->v6.sin6_addr) == 1;
}

/* Copies the text at path; leaves out as it is when there is none. */
static void copy_text(MMDB_entry_s *entry, const char *const *path, char *out, size_t size)
{
	MMDB_entry_data_s data;
	if (MMDB_aget_value(entry, &data, path) != MMDB_SUCCESS || !data.has_data ||
	    data.type != MMDB_DATA_TYPE_UTF8_STRING)
		return;
	utf8_copy_clean(data.utf8_string, data.data_size, out, size);
}

static bool is_country(const char *code)
{
	return isupper((unsigned char)code[0]) && isupper((unsigned char)code[1]) && code[2] == '\0';
}

static const char *const country_path[] = { "country", "iso_code", NULL };
static const char *const registered_path[] = { "registered_country", "iso_code", NULL };
static const char *const city_path[] = { "city", "names", "en", NULL };

void geoip_find(const struct geoip *geoip, const char *network, struct geoip_place *out)
{
	*out = (struct geoip_place){ 0 };
	union address address;
	if (!geoip->has_database || !parse_network(network, &address))
		return;
	int error = MMDB_SUCCESS;
	MMDB_lookup_result_s found = MMDB_lookup_sockaddr(&geoip->database, &address.any, &error);
	if (error != MMDB_SUCCESS || !found.found_entry)
		return;
	copy_text(&found.entry, country_path, out->country, sizeof(out->country));
	if (!is_country(out->country))
		copy_text(&found.entry, registered_path, out->country, sizeof(out->country));
	if (!is_country(out->country))
		out->country[0] = '\0';
	copy_text(&found.entry, city_path, out->city, sizeof(out->city));
}
