/*
 * A link, and whether it may be followed. SQL, proto/waymark/v1/link_event.proto and JSON use the
 * same words. Times are in microseconds since 1970-01-01T00:00:00Z; 0 = never. A start of 0 is the
 * creation. Pure.
 */
#ifndef WAYMARK_LIB_LINKS_LINK_H
#define WAYMARK_LIB_LINKS_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/links/slug.h"

/* The largest DESTINATION_BYTES_MAX (links-api). */
#define LINK_URL_MAX 8192
#define LINK_URL_SIZE (LINK_URL_MAX + 1)
#define LINK_TITLE_CHARS_MAX 200
#define LINK_TITLE_SIZE (LINK_TITLE_CHARS_MAX * 4 + 1)
#define LINK_TAGS_MAX 20
#define LINK_TAG_CHARS_MAX 50
#define LINK_TAG_SIZE (LINK_TAG_CHARS_MAX * 4 + 1)
/* Of an encoded waymark.v1.LinkExtras. */
#define LINK_EXTRAS_BYTES_MAX 8192
#define LINK_ALIASES_MAX 20
#define LINK_EXTERNAL_ID_CHARS_MAX 100
#define LINK_EXTERNAL_ID_SIZE (LINK_EXTERNAL_ID_CHARS_MAX * 4 + 1)
#define LINK_BLOCKED_REASON_CHARS_MAX 500
#define LINK_BLOCKED_REASON_SIZE (LINK_BLOCKED_REASON_CHARS_MAX * 4 + 1)
#define LINK_TEMPORARY_LIFETIME_US (8 * INT64_C(3600000000))

/* The numbers are those of waymark.v1.LinkState, which has only those that are stored. */
enum link_state {
	LINK_STATE_ACTIVE = 1,
	LINK_STATE_DISABLED = 2,
	LINK_STATE_EXPIRED = 3,
	LINK_STATE_DELETED = 4,
	LINK_STATE_SCHEDULED = 5, /* ACTIVE before its start: only link_state_at returns it */
};
/* The numbers are those of waymark.v1.LinkType. */
enum link_type { LINK_TYPE_TEMPORARY = 1, LINK_TYPE_PERMANENT = 2 };
/* The numbers are those of waymark.v1.LinkChange. */
enum link_change {
	LINK_CHANGE_CREATED = 1,
	LINK_CHANGE_UPDATED = 2,
	LINK_CHANGE_DISABLED = 3,
	LINK_CHANGE_ENABLED = 4,
	LINK_CHANGE_EXPIRED = 5,
	LINK_CHANGE_DELETED = 6,
	LINK_CHANGE_RESTORED = 7,
	LINK_CHANGE_CLAIMED = 8,
	LINK_CHANGE_PURGED = 9,
	LINK_CHANGE_REPUBLISHED = 10,
};

/*
 * What a redirect needs, and all that caches store. Holds no pointers: copy link_entry_size bytes
 * of it.
 */
struct link_entry {
	int64_t id;
	int64_t version;
	int64_t starts_at_us;
	int64_t expires_at_us;
	/* As stored; see link_state_at. */
	enum link_state state;
	uint16_t redirect_status;
	/* Bytes of extras; 0: a plain link. */
	uint16_t extras_len;
	/* It has extras, which its source did not give: it must not answer a visitor. */
	bool lacks_extras;
	/* By an administrator. */
	bool is_blocked;
	/* A person chose the slug. */
	bool is_slug_chosen;
	/* It is found only as it is; see slug.h. */
	bool is_slug_exact;
	char slug[SLUG_SIZE];
	/* slug is an alias of this one; "" = slug is the link's own. */
	char alias_of[SLUG_SIZE];
	char original_url[LINK_URL_SIZE];
	/* "" = none. */
	char expired_url[LINK_URL_SIZE];
	/* The last member; a waymark.v1.LinkExtras (link_extras.h). Private: never on a topic. */
	uint8_t extras[LINK_EXTRAS_BYTES_MAX];
};

/* Without the unused end of extras. */
size_t link_entry_size(const struct link_entry *entry);

struct link_tags {
	size_t count;
	char tag[LINK_TAGS_MAX][LINK_TAG_SIZE];
};

/* The index of a tag; the number of tags if it is not among them. */
size_t link_tags_find(const struct link_tags *tags, const char *name);

/*
 * The whole link, as its workspace sees it. Holds no pointers. About 35 KB: keep arrays on the heap,
 * and copy with link_copy.
 */
struct link {
	struct link_entry entry;
	enum link_type type;
	/* 0 = of nobody. */
	int64_t workspace_id;
	/* A user; 0 = not known. Not in events. */
	int64_t created_by;
	/* Of a DELETED link: the state that restoring brings back; 0 = unknown. Not in events. */
	enum link_state state_before_deletion;
	char title[LINK_TITLE_SIZE];
	struct link_tags tags;
	int64_t created_at_us;
	int64_t updated_at_us;
	/* 0 = not deleted. Not in events. */
	int64_t deleted_at_us;
	/* "" = none. */
	char external_id[LINK_EXTERNAL_ID_SIZE];
	/* "" = not blocked. Not in events. */
	char blocked_reason[LINK_BLOCKED_REASON_SIZE];
	/* Not in events. */
	int alias_count;
	/* What entry.extras hold (link_extras.h). Not in events. */
	unsigned features;
};

/* Copies a link without the unused end of its extras. */
void link_copy(struct link *out, const struct link *from);

/*
 * The state at a given time. An ACTIVE link with expires_at <= now counts as EXPIRED, even if the
 * database still says ACTIVE. One with starts_at > now is SCHEDULED.
 */
enum link_state link_state_at(const struct link_entry *entry, int64_t now_us);

/* The key under which the link is stored and found (slug.h). Returns its length. */
size_t link_key(const struct link_entry *entry, char out[static SLUG_KEY_SIZE]);
/*
 * Whether slug is only another spelling of alias_of, with the same key: the name of an event that ends
 * this spelling. It changes nothing for caches.
 */
bool link_is_respelled(const struct link_entry *entry);
/* Whether a slug that was typed is that of the link: as it is, or in either case if it was chosen. */
bool link_answers_to(const struct link_entry *entry, const char *slug);

/*
 * Finds the host of a URL in normal form: between "://" and the port, with the brackets of an IPv6
 * address. Returns its length and points *host into url; 0: the URL has none.
 */
size_t link_url_host(const char *url, const char **host);

bool link_redirect_status_is_valid(int64_t status); /* 301, 302, 307, 308 */

/* The names in the API, "active" …, and back. ERR_INVALID: unknown name. */
const char *link_state_name(enum link_state state);
enum err link_state_parse(const char *name, enum link_state *state) MUST_CHECK;
const char *link_type_name(enum link_type type);
enum err link_type_parse(const char *name, enum link_type *type) MUST_CHECK;

/* The same in the database: "ACTIVE" … */
const char *link_state_stored(enum link_state state);
enum err link_state_parse_stored(const char *stored, enum link_state *state) MUST_CHECK;
const char *link_type_stored(enum link_type type);
enum err link_type_parse_stored(const char *stored, enum link_type *type) MUST_CHECK;

#endif
