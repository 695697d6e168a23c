/* Pure. The rules for changing a link: what each change does to it, and how it is recorded. */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_CHANGE_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/links/link.h"
#include "services/links-api/links/link_request.h"

/* Extends enum link_change: the link stays as it is. */
#define LINK_CHANGE_NOTHING ((enum link_change)0)

/*
 * A rule edits link in place and sets what to record. arg belongs to the rule. ERR_NOT_FOUND: links
 * in this state do not exist for the rule. ERR_CONFLICT: the link's state forbids the change;
 * *conflict says why.
 */
struct link_change_conflict {
	/* JSON pointer of the field. */
	const char *pointer;
	/* What is wrong, for programs. */
	const char *code;
	/* Completes a sentence about that field. */
	const char *detail;
};
typedef enum err (*link_change_rule)(const void *arg, int64_t now_us, struct link *link,
                                     enum link_change *change,
                                     struct link_change_conflict *conflict);

/*
 * arg: a struct link_request of kind LINK_REQUEST_CHANGE. An expired link becomes ACTIVE again when
 * it gets a later expires_at, or none; "state": "active" alone is ERR_CONFLICT. A TEMPORARY link,
 * which only administrators can change, must keep an expires_at and cannot have a starts_at.
 * starts_at must be before expires_at. add_tags must not exceed LINK_TAGS_MAX. A slug is what
 * link_aliases_rename expects.
 */
enum err link_change_edit(const void *arg, int64_t now_us, struct link *link,
                          enum link_change *change,
                          struct link_change_conflict *conflict) MUST_CHECK;

/* arg: NULL. */
enum err link_change_delete(const void *arg, int64_t now_us, struct link *link,
                            enum link_change *change,
                            struct link_change_conflict *conflict) MUST_CHECK;

/* arg: NULL. The end of an alias: the link itself stays as it is. */
enum err link_change_touch(const void *arg, int64_t now_us, struct link *link,
                           enum link_change *change,
                           struct link_change_conflict *conflict) MUST_CHECK;

/* arg: NULL. Accepts every state. Only names the change; link_store_purge removes the link. */
enum err link_change_purge(const void *arg, int64_t now_us, struct link *link,
                           enum link_change *change,
                           struct link_change_conflict *conflict) MUST_CHECK;

/*
 * arg: NULL. Restores a deleted link to its previous state; it shows as EXPIRED if it has expired
 * since. ERR_CONFLICT: the link is not deleted.
 */
enum err link_change_restore(const void *arg, int64_t now_us, struct link *link,
                             enum link_change *change,
                             struct link_change_conflict *conflict) MUST_CHECK;

/*
 * Replaces a tag by another in its place, or removes it if to is NULL or one of the link's tags
 * already. Valid in every state, also for a DELETED link. False: the link does not have the tag.
 */
bool link_change_retag(struct link *link, const char *from, const char *to);

#endif
