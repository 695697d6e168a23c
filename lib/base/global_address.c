#include "lib/base/global_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/array.h"

struct block4 {
	uint8_t first[4];
	unsigned bits;
};

struct block6 {
	uint8_t first[16];
	unsigned bits;
};

static const struct block4 rejected4[] = {
	{ { 0, 0, 0, 0 }, 8 },        /* this network */
	{ { 10, 0, 0, 0 }, 8 },       /* private */
	{ { 100, 64, 0, 0 }, 10 },    /* behind a carrier's NAT; metadata of Alibaba Cloud */
	{ { 127, 0, 0, 0 }, 8 },      /* loopback */
	{ { 168, 63, 129, 16 }, 32 }, /* Azure's services for its machines */
	{ { 169, 254, 0, 0 }, 16 },   /* link-local; metadata of most clouds */
	{ { 172, 16, 0, 0 }, 12 },    /* private */
	{ { 192, 0, 0, 0 }, 24 },     /* protocol assignments; metadata of Oracle Cloud */
	{ { 192, 0, 2, 0 }, 24 },     /* documentation */
	{ { 192, 31, 196, 0 }, 24 },  /* AS112 */
	{ { 192, 52, 193, 0 }, 24 },  /* AMT */
	{ { 192, 88, 99, 0 }, 24 },   /* 6to4 relays, deprecated */
	{ { 192, 168, 0, 0 }, 16 },   /* private */
	{ { 192, 175, 48, 0 }, 24 },  /* AS112 */
	{ { 198, 18, 0, 0 }, 15 },    /* benchmarks */
	{ { 198, 51, 100, 0 }, 24 },  /* documentation */
	{ { 203, 0, 113, 0 }, 24 },   /* documentation */
	{ { 224, 0, 0, 0 }, 4 },      /* multicast */
	{ { 240, 0, 0, 0 }, 4 },      /* reserved, and broadcast */
};

static const struct block6 unicast6 = { { 0x20 }, 3 };

/* Within unicast6. */
static const struct block6 rejected6[] = {
	{ { 0x20, 0x01, 0x00 },
	  23 }, /* protocol assignments: Teredo, benchmarks, ORCHID, drone IDs */
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32 },       /* documentation */
	{ { 0x20, 0x02 }, 16 },                   /* 6to4 */
	{ { 0x26, 0x20, 0, 0x4f, 0x80, 0 }, 48 }, /* AS112 */
	{ { 0x3f, 0xff, 0x00 }, 20 },             /* documentation */
};

static bool begins_with(const uint8_t *address, const uint8_t *first, unsigned bits)
{
	unsigned bytes = bits / 8, rest = bits % 8;
	if (memcmp(address, first, bytes) != 0)
		return false;
	return rest == 0 || (address[bytes] ^ first[bytes]) >> (8 - rest) == 0;
}

static bool is_global4(const uint8_t address[static 4])
{
	for (size_t i = 0; i < ARRAY_SIZE(rejected4); i++) {
		if (begins_with(address, rejected4[i].first, rejected4[i].bits))
			return false;
	}
	return true;
}

/* RFC 5214: a tunnel to the IPv4 address in the last four bytes. */
static bool is_isatap(const uint8_t address[static 16])
{
	return (address[8] & 0xfd) == 0 && address[9] == 0 && address[10] == 0x5e &&
	       address[11] == 0xfe;
}

static bool is_global6(const uint8_t address[static 16])
{
	if (!begins_with(address, unicast6.first, unicast6.bits) || is_isatap(address))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(rejected6); i++) {
		if (begins_with(address, rejected6[i].first, rejected6[i].bits))
			return false;
	}
	return true;
}

bool global_address_is(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET) {
		struct sockaddr_in in;
		memcpy(&in, address, sizeof(in));
		return is_global4((const uint8_t *)&in.sin_addr.s_addr);
	}
	if (address->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;
		memcpy(&in6, address, sizeof(in6));
		return in6.sin6_scope_id == 0 && is_global6(in6.sin6_addr.s6_addr);
	}
	return false;
}
