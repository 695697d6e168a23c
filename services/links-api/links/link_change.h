/*
 * Pure. What a change does to a link that is there, and how it is recorded.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_CHANGE_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_CHANGE_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/links/link.h"
#include "services/links-api/links/link_request.h"

/* 0 beside the values of enum link_change: nothing is different. */
#define LINK_CHANGE_NOTHING ((enum link_change)0)

/*
 * A change's rule: edits link in place and says what to record. arg is the rule's own. ERR_NOT_FOUND: the rule does not
 * see such links. ERR_CONFLICT: the link's state rules the change out; refusal says why, as a sentence about a field.
 */
struct link_change_refusal {
	const char *pointer;
	const char *detail;
};
typedef enum err (*link_change_rule)(const void *arg, int64_t now_us, struct link *link, enum link_change *change,
                                     struct link_change_refusal *refusal);

/*
 * arg: a struct link_request of kind LINK_REQUEST_CHANGE. An expired link becomes ACTIVE again when it gets a later (or
 * no) expires_at; "state": "ACTIVE" alone cannot bring it back. A TEMPORARY link, which administrators reach, keeps one.
 */
enum err link_change_edit(const void *arg, int64_t now_us, struct link *link, enum link_change *change,
                          struct link_change_refusal *refusal) MUST_CHECK;

/* arg: NULL. */
enum err link_change_delete(const void *arg, int64_t now_us, struct link *link, enum link_change *change,
                            struct link_change_refusal *refusal) MUST_CHECK;

/* arg: NULL. In whatever state the link is; link_store_purge carries it out. */
enum err link_change_purge(const void *arg, int64_t now_us, struct link *link, enum link_change *change,
                           struct link_change_refusal *refusal) MUST_CHECK;

/*
 * arg: NULL. Only deleted links can be restored; they are as they were (and EXPIRED if their time is over meanwhile).
 */
enum err link_change_restore(const void *arg, int64_t now_us, struct link *link, enum link_change *change,
                             struct link_change_refusal *refusal) MUST_CHECK;

#endif
