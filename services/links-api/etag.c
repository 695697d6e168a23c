#include "services/links-api/etag.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void etag_format(int64_t version, char out[static ETAG_SIZE])
{
	snprintf(out, ETAG_SIZE, "\"v%" PRId64 "\"", version);
}

bool etag_if_match(const char *header, int64_t version)
{
	if (!header)
		return true;
	char wanted[ETAG_SIZE];
	etag_format(version, wanted);
	size_t wanted_len = strlen(wanted);
	while (*header) {
		header += strspn(header, " \t,");
		size_t len = strcspn(header, ",");
		size_t tag_len = len;
		while (tag_len > 0 && (header[tag_len - 1] == ' ' || header[tag_len - 1] == '\t'))
			tag_len--;
		if (tag_len == 1 && *header == '*')
			return true;
		if (tag_len == wanted_len && memcmp(header, wanted, wanted_len) == 0)
			return true;
		header += len;
	}
	return false;
}
