#include "lib/base/client_ip.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/number.h"

#define V4_PREFIX_BYTES 12
#define PORT_DIGITS_MAX 5

static const uint8_t v4_mapped[V4_PREFIX_BYTES] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

static bool is_v4(const uint8_t bytes[static 16])
{
	return memcmp(bytes, v4_mapped, V4_PREFIX_BYTES) == 0;
}

/* An address without brackets, port or zone. */
static bool parse_bare(const char *text, size_t len, struct client_ip *out)
{
	char copy[CLIENT_IP_TEXT_SIZE];
	if (len == 0 || len >= sizeof(copy) || memchr(text, '\0', len) != NULL)
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';

	struct client_ip ip = { .known = true };
	if (inet_pton(AF_INET6, copy, ip.bytes) != 1) {
		memcpy(ip.bytes, v4_mapped, V4_PREFIX_BYTES);
		if (inet_pton(AF_INET, copy, ip.bytes + V4_PREFIX_BYTES) != 1)
			return false;
	}
	*out = ip;
	return true;
}

static bool is_port(const char *text, size_t len)
{
	if (len < 2 || len > 1 + PORT_DIGITS_MAX || text[0] != ':')
		return false;
	for (size_t i = 1; i < len; i++)
		if (!isdigit((unsigned char)text[i]))
			return false;
	return true;
}

/* The length of text without its zone ("%eth0"). */
static size_t without_zone(const char *text, size_t len)
{
	const char *zone = memchr(text, '%', len);
	return zone == NULL || zone + 1 == text + len ? len : (size_t)(zone - text);
}

static bool parse_bracketed(const char *text, size_t len, struct client_ip *out)
{
	const char *end = memchr(text, ']', len);
	if (end == NULL)
		return false;
	size_t inside = (size_t)(end - text) - 1;
	size_t after = len - inside - 2;
	if (after > 0 && !is_port(end + 1, after))
		return false;
	return memchr(text + 1, ':', inside) != NULL &&
	       parse_bare(text + 1, without_zone(text + 1, inside), out);
}

enum err client_ip_parse(const char *text, size_t len, struct client_ip *out)
{
	if (len > 0 && text[0] == '[')
		return parse_bracketed(text, len, out) ? OK : ERR_INVALID;

	const char *first = memchr(text, ':', len);
	const char *last = memrchr(text, ':', len);
	size_t address = len;
	if (first != NULL && first == last) { /* one colon: IPv4 with a port */
		address = (size_t)(first - text);
		if (!is_port(first, len - address))
			return ERR_INVALID;
	} else if (first != NULL) {
		address = without_zone(text, len);
	}
	return parse_bare(text, address, out) ? OK : ERR_INVALID;
}

static void keep_prefix(uint8_t bytes[static 16], unsigned prefix)
{
	for (unsigned i = 0; i < 16; i++) {
		unsigned kept = prefix > i * 8 ? prefix - i * 8 : 0;
		if (kept < 8)
			bytes[i] &= (uint8_t)(0xff00U >> kept);
	}
}

static enum err parse_range(const char *text, size_t len, struct client_ip_range *out)
{
	const char *slash = memchr(text, '/', len);
	size_t address = slash == NULL ? len : (size_t)(slash - text);
	struct client_ip ip;
	if (!parse_bare(text, address, &ip))
		return ERR_INVALID;

	bool dotted = memchr(text, ':', address) == NULL;
	int64_t prefix = dotted ? 32 : 128;
	if (slash != NULL) {
		char digits[4] = { 0 };
		size_t count = len - address - 1;
		if (count == 0 || count >= sizeof(digits))
			return ERR_INVALID;
		memcpy(digits, slash + 1, count);
		if (number_parse(digits, 0, prefix, &prefix) != OK)
			return ERR_INVALID;
	}
	prefix += dotted ? 96 : 0;
	memcpy(out->bytes, ip.bytes, sizeof(out->bytes));
	out->prefix = (uint8_t)prefix;
	keep_prefix(out->bytes, out->prefix);
	return OK;
}

enum err client_ip_ranges_parse(const char *text, struct client_ip_ranges *out)
{
	static const char separators[] = ", \t\r\n";
	struct client_ip_ranges ranges = { 0 };
	for (text += strspn(text, separators); *text != '\0'; text += strspn(text, separators)) {
		size_t len = strcspn(text, separators);
		if (ranges.count == CLIENT_IP_RANGES_MAX)
			return ERR_LIMIT;
		enum err err = parse_range(text, len, &ranges.range[ranges.count]);
		if (err != OK)
			return err;
		ranges.count++;
		text += len;
	}
	*out = ranges;
	return OK;
}

static bool range_contains(const struct client_ip_range *range, const struct client_ip *ip)
{
	unsigned whole = range->prefix / 8, rest = range->prefix % 8;
	if (memcmp(ip->bytes, range->bytes, whole) != 0)
		return false;
	return rest == 0 || ((ip->bytes[whole] ^ range->bytes[whole]) & (0xff00U >> rest)) == 0;
}

bool client_ip_ranges_contain(const struct client_ip_ranges *ranges, const struct client_ip *ip)
{
	if (ranges == NULL || !ip->known)
		return false;
	for (size_t i = 0; i < ranges->count; i++)
		if (range_contains(&ranges->range[i], ip))
			return true;
	return false;
}

/* Removes the last entry of a comma-separated list: *len becomes the length of the rest. */
static void take_last(const char *list, size_t *len, const char **entry, size_t *entry_len)
{
	const char *comma = memrchr(list, ',', *len);
	const char *begin = comma == NULL ? list : comma + 1;
	const char *end = list + *len;
	while (begin < end && (*begin == ' ' || *begin == '\t'))
		begin++;
	while (end > begin && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	*entry = begin;
	*entry_len = (size_t)(end - begin);
	*len = comma == NULL ? 0 : (size_t)(comma - list);
}

struct client_ip client_ip_of_request(const struct client_ip *peer, const char *forwarded_for,
                                      const struct client_ip_ranges *trusted)
{
	struct client_ip unknown = { 0 };
	if (!client_ip_ranges_contain(trusted, peer))
		return *peer;
	if (forwarded_for == NULL)
		return unknown;

	struct client_ip ip = unknown;
	size_t len = strlen(forwarded_for);
	for (unsigned hops = 0; len > 0; hops++) {
		const char *entry;
		size_t entry_len;
		take_last(forwarded_for, &len, &entry, &entry_len);
		if (hops == CLIENT_IP_HOPS_MAX || client_ip_parse(entry, entry_len, &ip) != OK)
			return unknown;
		if (!client_ip_ranges_contain(trusted, &ip))
			return ip;
	}
	return ip; /* every hop is trusted: the leftmost is the client */
}

void client_ip_format(const struct client_ip *ip, char out[static CLIENT_IP_TEXT_SIZE])
{
	out[0] = '\0';
	if (!ip->known)
		return;
	if (is_v4(ip->bytes))
		inet_ntop(AF_INET, ip->bytes + V4_PREFIX_BYTES, out, CLIENT_IP_TEXT_SIZE);
	else
		inet_ntop(AF_INET6, ip->bytes, out, CLIENT_IP_TEXT_SIZE);
}

/* Returns the end of what it wrote. Runs for each request, so it avoids snprintf. */
static char *put_byte(char *at, uint8_t byte)
{
	if (byte >= 100)
		*at++ = (char)('0' + byte / 100);
	if (byte >= 10)
		*at++ = (char)('0' + byte / 10 % 10);
	*at++ = (char)('0' + byte % 10);
	return at;
}

static void format_v4_network(const uint8_t address[static 3], char *at)
{
	for (size_t i = 0; i < 3; i++) {
		at = put_byte(at, address[i]);
		*at++ = '.';
	}
	memcpy(at, "0/24", sizeof("0/24"));
}

void client_ip_network(const struct client_ip *ip, char out[static CLIENT_IP_NETWORK_SIZE])
{
	out[0] = '\0';
	if (!ip->known)
		return;
	if (is_v4(ip->bytes)) {
		format_v4_network(ip->bytes + V4_PREFIX_BYTES, out);
		return;
	}
	struct client_ip network = *ip;
	keep_prefix(network.bytes, 48);
	char text[CLIENT_IP_TEXT_SIZE];
	client_ip_format(&network, text);
	snprintf(out, CLIENT_IP_NETWORK_SIZE, "%s/48", text);
}
