/*
 * The handlers that route_table.c lists, in the order of its table; ctx is the struct request. What each
 * request and response contains is in docs/api/openapi.yaml. Those that hash passwords return
 * HTTP_PENDING, and a password thread completes the response. All endpoints with a limit also answer
 * 429, and those with a store 503.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_HTTP_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_HTTP_HANDLERS_H

#include "lib/http/http_problem.h"
#include "lib/http/http_server.h"
#include "lib/json/json.h"

struct blocked_host;
struct user_change;

/* --- accounts and logins --- */

/*
 * What is allowed here, for pages that offer only that → 200 {registration, registration_domains,
 * anonymous_links, public_stats, page_titles, password_login, sign_in, mail, workspace_creation}
 */
enum http_progress instance_handlers_get(void *ctx, struct http_exchange *x);

/* → 201 {user}, 400, 403 "registration-closed" or "https-required", 409 "email-taken"; invitation_refuse */
enum http_progress auth_handlers_register(void *ctx, struct http_exchange *x);

/* → 200 {access_token, token_type, expires_in}, 400, 401 (also "second-factor", "wrong-code") */
enum http_progress auth_handlers_login(void *ctx, struct http_exchange *x);

/* → 201 {user} and a session's cookie, 400, 401, 403 "cross-site" or "https-required" */
enum http_progress auth_handlers_start_session(void *ctx, struct http_exchange *x);

/* → 200 {user}, null without valid credentials; 403 */
enum http_progress auth_handlers_get_session(void *ctx, struct http_exchange *x);

/*
 * Single sign-on, for a browser → 303, 404, 503 with Retry-After. ?link=1 ties the provider to the
 * account of the session. The first goes to the provider, which sends the browser to the second.
 */
enum http_progress oidc_handlers_start(void *ctx, struct http_exchange *x);
enum http_progress oidc_handlers_callback(void *ctx, struct http_exchange *x);
/*
 * Ends the request's own session → 200 {redirect_to}: where the browser ends the one at the provider by
 * which it began, or null; 404 (it has an access token)
 */
enum http_progress oidc_handlers_logout(void *ctx, struct http_exchange *x);

/* By which providers the person logs in → 200 {identities} */
enum http_progress oidc_identity_handlers_list(void *ctx, struct http_exchange *x);
/* → 204, 404, 409 "last-login". Ends other sessions that began by it, and what its groups gave. */
enum http_progress oidc_identity_handlers_delete(void *ctx, struct http_exchange *x);

/* Ends the request's own session → 204, 404 (it has an access token) */
enum http_progress session_handle_end(void *ctx, struct http_exchange *x);
/* → 200 {sessions} */
enum http_progress session_handle_list(void *ctx, struct http_exchange *x);
/* → 204, 404, also for another user's */
enum http_progress session_handle_delete(void *ctx, struct http_exchange *x);

/* → 200 {user} */
enum http_progress auth_handlers_me(void *ctx, struct http_exchange *x);

/*
 * {name?, tz?, locale?, theme?, workspace_id?, mail_dead_links?, mail_monthly_report?}
 * → 200 {user}, 400
 */
enum http_progress account_handlers_change(void *ctx, struct http_exchange *x);

/*
 * The password that both need counts towards a limit, so a stolen access token or session allows no
 * extra guesses. {password} → 204, 400, 403 "wrong-password", 409 "last-admin" or "last-owner"
 */
enum http_progress account_handlers_delete(void *ctx, struct http_exchange *x);
/* {current_password, new_password} → 204, 400, 403 "wrong-password" */
enum http_progress account_handlers_set_password(void *ctx, struct http_exchange *x);

/*
 * A forgotten password: an administrator creates a token and gives it to the user, or the user has one
 * mailed, and sets a new password with it, once and within 24 hours. {token, new_password} → 204, 400,
 * 403 "wrong-token"
 */
enum http_progress password_reset_use(void *ctx, struct http_exchange *x);
/* {email} → 202 after the same time for every address, 400, 409 "no-mail" */
enum http_progress password_reset_request(void *ctx, struct http_exchange *x);

/*
 * Another address for the account, or a new mail that confirms the one it has (email_change.h).
 * {email, password} → 202 {user}; 200 without mail; 400, 403 "wrong-password", 409 "email-taken"
 */
enum http_progress email_change_request(void *ctx, struct http_exchange *x);
/* {token} → 200 {user}, 400, 403 "wrong-token", 409 "email-taken" */
enum http_progress email_change_confirm(void *ctx, struct http_exchange *x);

/*
 * The second factor of the account (second_factor.h). Wrong passwords and codes count, as at login.
 * → 200 {since, recovery_codes_left, required}; since null = there is none
 */
enum http_progress second_factor_handlers_get(void *ctx, struct http_exchange *x);
/*
 * {password?}, which a session of less than SESSION_FRESH_S does not need → 201 {secret, otpauth_url},
 * 400, 403 "wrong-password", 409 "state" (it has one)
 */
enum http_progress second_factor_handlers_offer(void *ctx, struct http_exchange *x);
/* {code} → 200 {recovery_codes}, the only response with them; 400, 403 "wrong-code", 409 "state" */
enum http_progress second_factor_handlers_confirm(void *ctx, struct http_exchange *x);
/* {password, code} → 200 {recovery_codes}; 400, 403 "wrong-password" or "wrong-code", 409 "state" */
enum http_progress second_factor_handlers_renew(void *ctx, struct http_exchange *x);
/* {password, code} → 204; 400, 403 "wrong-password" or "wrong-code", 409 "state" */
enum http_progress second_factor_handlers_remove(void *ctx, struct http_exchange *x);

/* --- reports of abuse, by anybody --- */

/* ?link= → 200: a page with a form, in the language of the visitor */
enum http_progress report_handlers_form(void *ctx, struct http_exchange *x);
enum http_progress report_handlers_asset(void *ctx, struct http_exchange *x);
/*
 * {link, reason, details?, email?} → 204, 400, 404, 429. Of the form → 200, 400, 403
 * "cross-site", 404, 429: a page
 */
enum http_progress report_handlers_create(void *ctx, struct http_exchange *x);

/* --- workspaces and their members --- */

/* → 200 {workspaces}: those of the person */
enum http_progress workspace_handlers_list(void *ctx, struct http_exchange *x);
/* → 200 {user, workspaces}, 404: an account and where it is a member */
enum http_progress workspace_handlers_of_user(void *ctx, struct http_exchange *x);
/* {name} → 201 {workspace}, 400, 403 (WORKSPACE_CREATION), 409 (WORKSPACE_STORE_SPONSORED_MAX) */
enum http_progress workspace_handlers_create(void *ctx, struct http_exchange *x);
/* → 200 {workspace}, also during the week in which its deletion can be undone */
enum http_progress workspace_handlers_get(void *ctx, struct http_exchange *x);
/* {name?, requires_second_factor?, default_forward_query?, default_forward_path?} → 200 {workspace}, 400 */
enum http_progress workspace_handlers_change(void *ctx, struct http_exchange *x);
/* {name}: its name, as a precaution → 204, 400, 409 */
enum http_progress workspace_handlers_delete(void *ctx, struct http_exchange *x);
/* → 200 {workspace}, 409 */
enum http_progress workspace_handlers_restore(void *ctx, struct http_exchange *x);

/* → 200 {members} */
enum http_progress member_handlers_list(void *ctx, struct http_exchange *x);
/* {role} → 204, 400, 403 "role", 404, 409 "last-owner" or "too-many-workspaces" */
enum http_progress member_handlers_change(void *ctx, struct http_exchange *x);
/* Also to leave → 204, 403, 404, 409 */
enum http_progress member_handlers_delete(void *ctx, struct http_exchange *x);

/* → 200 {invitations}: those that nobody has used or revoked, of the workspace or of the instance */
enum http_progress invitation_handlers_list(void *ctx, struct http_exchange *x);
/* {email, role} → 201 {invitation, token, url}, the only response with it; 400, 403, 409, 429 */
enum http_progress invitation_handlers_create(void *ctx, struct http_exchange *x);
/* → 204, 404 */
enum http_progress invitation_handlers_delete(void *ctx, struct http_exchange *x);
/* {token} → 200, 400, 404 "no-invitation", "invitation-used", -expired, -replaced or -revoked */
enum http_progress invitation_handlers_look(void *ctx, struct http_exchange *x);
/* {token} → 200, 400, 403 "invitation-for-another", 404 as above, 409 "too-many-members" */
enum http_progress invitation_handlers_accept(void *ctx, struct http_exchange *x);

/*
 * --- API keys (identity/api_key_handlers.c). 403 "not-your-key": it acts for another member; "key-limited":
 * the API key of the request has less than that one; 404: also for a key that the caller does not see ---
 */

/* → 201 {key, secret}, the only response with it; 400, 403 "not-a-member", 409 (API_KEY_KEYS_MAX) */
enum http_progress api_key_handlers_create(void *ctx, struct http_exchange *x);
/* → 200 {keys}: the caller's; for admins of the workspace all */
enum http_progress api_key_handlers_list(void *ctx, struct http_exchange *x);
/* {name?, scopes?, tags?, expires_at?, created_by?} → 200 {key}, 400, 403, 404 */
enum http_progress api_key_handlers_change(void *ctx, struct http_exchange *x);
/* {overlap_s?} → 200 {key, secret}, 400, 403, 404 */
enum http_progress api_key_handlers_rotate(void *ctx, struct http_exchange *x);
/* → 204, 403 "key-limited", 404 */
enum http_progress api_key_handlers_delete(void *ctx, struct http_exchange *x);

/* --- shares --- */

/*
 * → 201 {share, token, url}; the only response with the token. 400, 409 (SHARE_SHARES_MAX). url is
 * relative: this server may have another address than short links.
 */
enum http_progress share_handlers_create(void *ctx, struct http_exchange *x);
/* → 200 {shares} */
enum http_progress share_handle_list(void *ctx, struct http_exchange *x);
/* → 200 {share} with its ETag, 404 */
enum http_progress share_edit_handle_get(void *ctx, struct http_exchange *x);
/* If-Match, {title?, text?, range?, logo?, password?, expires_at?} → 200 {share}, 400, 404, 412 */
enum http_progress share_edit_handle_change(void *ctx, struct http_exchange *x);
/* → 204, 404, also for another workspace's */
enum http_progress share_handle_delete(void *ctx, struct http_exchange *x);
/* Of {id}, or for the reader of a share its own → 200 a picture, 404 */
enum http_progress share_handle_logo(void *ctx, struct http_exchange *x);

/*
 * {token, password?} → 200 {access_token, token_type, expires_in}, for readers. 401 "share-password":
 * it has a password, and this is not the one. 404 "no-share": the token is unknown, or its share has
 * ended for whatever reason. 400
 */
enum http_progress share_handlers_access(void *ctx, struct http_exchange *x);
/* For the reader of a share → 200 {title, text, range, has_logo, link, tag, expires_at} */
enum http_progress share_handle_get(void *ctx, struct http_exchange *x);

/* --- administrators --- */

/* ?q=&page=&cursor=&limit= → 200 {users, pagination}, 400 */
enum http_progress admin_handlers_users(void *ctx, struct http_exchange *x);

/* {blocked?, role?, links_per_day?} → 200 {user}, 400, 404, 409 (blocking or demoting oneself) */
enum http_progress admin_handlers_change_user(void *ctx, struct http_exchange *x);

/* → 204, 404, 409 "own-account" or "last-owner" */
enum http_progress admin_handlers_delete_user(void *ctx, struct http_exchange *x);

/* → 201 {token, expires_at}, 404. An earlier token of the account becomes invalid. */
enum http_progress password_reset_create(void *ctx, struct http_exchange *x);

/* → 204, 404 (it has none), 409 "own-account" */
enum http_progress second_factor_handlers_remove_of_user(void *ctx, struct http_exchange *x);

/*
 * ?cursor=&limit=&actor_id=&action=&subject_type=&subject_id= → 200 {entries, pagination}, 400. Of the
 * instance, or of the workspace.
 */
enum http_progress admin_handlers_audit(void *ctx, struct http_exchange *x);

/*
 * The hosts that links may not lead to. A change takes effect at once in this process, and in the
 * others as host_guard.h says. → 200 {hosts}, sorted by name
 */
enum http_progress host_handlers_list(void *ctx, struct http_exchange *x);
/* → 201 {host}, 400, 409 "host-taken" or "too-many-hosts" (HOST_GUARD_BLOCKED_MAX) */
enum http_progress host_handlers_create(void *ctx, struct http_exchange *x);
/* → 204, 404 */
enum http_progress host_handlers_delete(void *ctx, struct http_exchange *x);

/* A test mail to oneself. → 202 {to}, 409 "no-mail", 429 */
enum http_progress mail_handlers_test(void *ctx, struct http_exchange *x);
/* The mails that wait or were not sent, the newest 100 → 200 {mails} */
enum http_progress mail_handlers_list(void *ctx, struct http_exchange *x);

/* ?state=&cursor=&limit= → 200 {reports, pagination}, newest first; 400 */
enum http_progress report_list_get(void *ctx, struct http_exchange *x);
/* {state: "open" | "closed"} → 200 {report}, 400, 404 */
enum http_progress report_list_patch(void *ctx, struct http_exchange *x);

/* A link of anybody: redirectors answer 451. Closes its open reports. {reason} → 204, 400, 404 */
enum http_progress link_block_put(void *ctx, struct http_exchange *x);
/* → 204, 404; also if it is not blocked */
enum http_progress link_block_delete(void *ctx, struct http_exchange *x);

/* What phones read below /.well-known/ (app_document.h) → 200 {document, updated_at}, 404 */
enum http_progress app_document_handlers_get(void *ctx, struct http_exchange *x);
/* {document} → 200 {document, updated_at}, 400, 404 */
enum http_progress app_document_handlers_put(void *ctx, struct http_exchange *x);
/* → 204, 404 */
enum http_progress app_document_handlers_delete(void *ctx, struct http_exchange *x);

/* → 200 (health.h), 503 */
enum http_progress health_get(void *ctx, struct http_exchange *x);

/* --- links: creating honours Idempotency-Key and reports the remaining quota (RateLimit) --- */

/* → 201 {link} with Location and ETag, 200 (reuse), 400, 409, 422 (Idempotency-Key), 429 */
enum http_progress link_create_own(void *ctx, struct http_exchange *x);
/* → 201 {link, claim_token} with Location and ETag, 400, 403 "anonymous-links-off", 409, 422, 429 */
enum http_progress link_create_public(void *ctx, struct http_exchange *x);

/*
 * In bulk, in one transaction, in which an item that fails does not affect the others → 200
 * {results: [{status, link | problem}]} in the order of the request.
 *
 * {links: [at most LINK_BULK_MAX bodies of POST /api/links]}. Status of each item: 201, 200 (reused),
 * 400, 409, 429
 */
enum http_progress link_bulk_create(void *ctx, struct http_exchange *x);
/*
 * {links: [at most LINK_BULK_SYNC_MAX of {slug, claim_token} or bodies as above]}. Status of each
 * item: as above, and for claims 200 (claimed now or earlier), 404 (no such pair of slug and token),
 * 409 (the link has expired)
 */
enum http_progress link_bulk_sync(void *ctx, struct http_exchange *x);

/*
 * One existing link. The same 404 answers a link of another user, an unknown link and, except for
 * restore and hard delete, a deleted link. Changes honour If-Match. → 200 {link} with ETag, 404
 */
enum http_progress link_handlers_get(void *ctx, struct http_exchange *x);
/* → 200 {link} with ETag, 400, 404, 409, 412. No effect: same version. */
enum http_progress link_handlers_patch(void *ctx, struct http_exchange *x);
/*
 * ?hard= → 204, 400, 404, 412. hard=true purges the link, even if it is already deleted; a purged
 * link cannot be restored.
 */
enum http_progress link_handlers_delete(void *ctx, struct http_exchange *x);
/*
 * The same by a slug, also an earlier one, and by the external_id → 200 {link} with ETag, 404. The rest
 * of the path is percent-encoded.
 */
enum http_progress link_find_by_slug(void *ctx, struct http_exchange *x);
/* Whether a new link could have the slug → 200 {slug, state, link_id}, whatever the rest of the path is */
enum http_progress link_find_slug_state(void *ctx, struct http_exchange *x);
enum http_progress link_find_by_external_id(void *ctx, struct http_exchange *x);
/*
 * The body of a POST or PATCH of links → 201 {link} as POST, or 200 {link} as PATCH if a link has the
 * external_id; 400, 403, 404 (it is DELETED), 409, 412
 */
enum http_progress link_upsert(void *ctx, struct http_exchange *x);
/* → 200 {aliases: [{slug, short_url, created_at}]}, the newest first; 404 */
enum http_progress link_handlers_list_aliases(void *ctx, struct http_exchange *x);
/* Ends an alias for good → 204, 404, 412 */
enum http_progress link_handlers_delete_alias(void *ctx, struct http_exchange *x);
/* → 200 {link} with ETag, 404, 409, 412 */
enum http_progress link_handlers_restore(void *ctx, struct http_exchange *x);
/* → 200 {changes: [{at, change, by, fields}], pagination} */
enum http_progress link_history_get(void *ctx, struct http_exchange *x);

/*
 * Lists of links. workspace= needs the login of an administrator: 403 otherwise. A query that exceeds
 * PostgreSQL's statement timeout is 422, because a retry would be as slow.
 *
 * ?page|cursor&limit&sort&order&q&tag&state&filter&workspace → 200 {links, pagination:
 * {page, limit, total, total_is_capped, total_pages, next_cursor}}, 400, 403, 422. page and
 * total_pages are null with a cursor. total stops at LINK_LIST_STORE_COUNTED_MAX for a search or
 * filter: total_is_capped is true then and total_pages null.
 */
enum http_progress link_list_handlers_get(void *ctx, struct http_exchange *x);

/*
 * {ids | filter, workspace_id} → 200 {moved}, 400, 403, 404, 409, 422, 429: at most LINK_WRITE_MAX
 * links, all or none, to a workspace where the person is an editor too.
 */
enum http_progress link_move(void *ctx, struct http_exchange *x);

/*
 * ?filter=&workspace= {original_url?, state?, expires_at?, tags?, add_tags?, remove_tags?} → 200
 * {matched, changed}, 400, 403, 409, 422: one change to all links that the filter matches, in one
 * transaction. 422: the filter matches more than LINK_WRITE_MAX links, and nothing is changed. A link
 * that already has the new values counts as matched, but not as changed. So does a link that the
 * change does not fit (link_change_edit):
 *   - an expired link that "state": "active" alone cannot enable
 *   - a link that starts after the new expires_at
 *   - a link that add_tags would give too many tags
 */
enum http_progress link_list_handlers_patch(void *ctx, struct http_exchange *x);

/*
 * ?filter=&workspace= → 200 {matched, changed}, 400, 403, 406, 409, 422 as above. Each link is deleted as
 * by DELETE /api/links/{id} and can be restored.
 */
enum http_progress link_list_handlers_delete(void *ctx, struct http_exchange *x);

/*
 * --- statistics: what the analytics-consumer has counted, and up to which time that is complete.
 * Errors: stats_request_answer_error. The first three stand at the path of one link, of the caller's
 * links together (/api/stats) and of those of a share (/api/shared/stats). ---
 */

/* …/stats, …/summary: totals of all time, or of a range or filter */
enum http_progress stats_handlers_summary(void *ctx, struct http_exchange *x);
/* …/timeseries */
enum http_progress stats_handlers_series(void *ctx, struct http_exchange *x);
/* …/{dimension} */
enum http_progress stats_handlers_dimension(void *ctx, struct http_exchange *x);
/* The most visited links */
enum http_progress stats_handlers_top(void *ctx, struct http_exchange *x);
/* Totals of the platform; public, or 403 "public-stats-off" */
enum http_progress stats_handlers_platform(void *ctx, struct http_exchange *x);

/*
 * The visit log of a link. The format comes from format= or else from Accept:
 *   JSON         200 {visits: […], pagination: {limit, next_cursor}, log_since, as_of, lag_ms}
 *   CSV, NDJSON  200 with all matching visits (visit_page.h); as_of and lag_ms are the headers
 *                X-As-Of and X-Lag-Ms
 * 406; 429: too many exports.
 */
enum http_progress visit_export_list(void *ctx, struct http_exchange *x);

/*
 * Where a visitor would go, by a link or by rules that are not saved yet. {link_id?, original_url?,
 * rules?, split?, forward_query?, visitor?} → 200 {kind, rule, variant, variants, url, fallback_url}, 400.
 * Counts and changes nothing.
 */
enum http_progress link_tester_decide(void *ctx, struct http_exchange *x);

/*
 * Requests a page for its title, on a thread that only does that. {url} → 200 {title}, null if the page
 * has none; 400, 403 "page-titles-off", 404 "page-not-found", 429.
 */
enum http_progress title_handlers_read(void *ctx, struct http_exchange *x);

/* --- tags, live, QR codes --- */

/*
 * → 200 {tags: [{name, color, links, humans, bots, total}], as_of, lag_ms}, at most the 1,000 tags of the
 * most links. Counted when they are read.
 */
enum http_progress tag_handlers_list(void *ctx, struct http_exchange *x);

/*
 * A tag is a text of its links, so its change is a change of each of them: the version rises, and the
 * outbox gets an event. All of them change in one transaction, or none. DELETED links change too, so
 * that restoring one does not bring the old tag back.
 *
 * {name?, color?} → 200 {name, color, changed}, 400, 404, 409, 422. The name of another tag merges the
 * two. 404: no link has the tag. 409: the account has 1,000 colors. 422: more than 10,000 links have the
 * tag.
 */
enum http_progress tag_handlers_patch(void *ctx, struct http_exchange *x);
/* Removes the tag from its links, and its color → 204, 404, 422 */
enum http_progress tag_handlers_delete(void *ctx, struct http_exchange *x);

/* The workspace's templates of campaign parameters → 200 {templates} */
enum http_progress utm_template_list(void *ctx, struct http_exchange *x);
/* Creates or replaces the one of that name. {utm_source?, …} → 204, 400, 409 (there are 50) */
enum http_progress utm_template_put(void *ctx, struct http_exchange *x);
/* → 204, 404 */
enum http_progress utm_template_delete(void *ctx, struct http_exchange *x);

/* → 200 text/event-stream, 400 (Last-Event-ID), 406, 429 "busy" */
enum http_progress live_handlers_get(void *ctx, struct http_exchange *x);

/*
 * The short URL of a link, with ?qr=1, as a QR code (qr_code.h) → 200, 304, 400 (an invalid format, size or margin,
 * or a size of less than one pixel per module), 404, 406
 */
enum http_progress qr_handlers_get(void *ctx, struct http_exchange *x);

/* --- documents: they never block --- */

/* GET /openapi.json */
enum http_progress document_description(void *ctx, struct http_exchange *x);
/* GET /docs: the page that shows it, and its files */
enum http_progress document_reader(void *ctx, struct http_exchange *x);
enum http_progress document_file(void *ctx, struct http_exchange *x);
/* GET /docs/runbook/{title}, /problems/{kind} → 200, 304, 404; GET /problems → 200, 304 */
enum http_progress document_runbook(void *ctx, struct http_exchange *x);
enum http_progress document_problem(void *ctx, struct http_exchange *x);
enum http_progress document_problems(void *ctx, struct http_exchange *x);

/* GET / and GET /app → 303 to /app/ */
enum http_progress document_redirect(void *ctx, struct http_exchange *x);
/* GET /app/{path...} → 200, 304, 404 */
enum http_progress document_dashboard(void *ctx, struct http_exchange *x);

/* --- parts of them that a fuzzer calls: pure; ERR_INVALID: wrong lists every invalid member --- */

/* Reads a change of an account: {blocked?, role?, links_per_day?}. */
enum err admin_handlers_read_user_change(const struct json *object, struct user_change *out,
                                         struct http_problem_fields *wrong) MUST_CHECK;

/*
 * Reads a host to block: {host, with_subdomains? (true), reason? ("")}. The host is in the normal form
 * of destination_host.h, without a trailing dot: "bücher.example" becomes xn--bcher-kva.example.
 */
enum err host_handlers_read_body(const struct json *object, struct blocked_host *out,
                                 struct http_problem_fields *wrong) MUST_CHECK;

#endif
