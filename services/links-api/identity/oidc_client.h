/*
 * The providers of single sign-on: discovery, key sets, codes and claims. Safe from any thread.
 *
 * Requests (oidc_request.h) run on OIDC_CLIENT_THREADS threads of their own (oidc_client_submit), so a
 * provider that is away takes no worker from other requests, and one network takes at most half of these
 * threads. For OIDC_CLIENT_AWAY_MS after a provider did not answer, it is not asked again: others need
 * the threads.
 *
 * What discovery says is kept for an hour, and longer while the provider is away. A key set is kept for
 * ten minutes; a token with an unknown key reads it again, at most every OIDC_CLIENT_KEYS_MS.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_OIDC_CLIENT_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_OIDC_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/worker_pool.h"
#include "services/links-api/identity/oidc_config.h"
#include "services/links-api/identity/oidc_login.h"

#define OIDC_CLIENT_THREADS 2
#define OIDC_CLIENT_WAITING_MAX 32
#define OIDC_CLIENT_AWAY_MS 2000
#define OIDC_CLIENT_KEYS_MS 10000

struct oidc_client;

/* path: OIDC_CONFIG. Both texts are borrowed. ERR_INVALID: the file is wrong (logged). */
enum err oidc_client_new(const char *path, const char *required_claim, const struct clock *clock,
                         const struct log *log, struct oidc_client **out) MUST_CHECK;
/* Waits for requests that run. NULL is allowed. */
void oidc_client_free(struct oidc_client *client);

/* NULL: there is no such provider. Borrowed. */
const struct oidc_provider *oidc_client_find(const struct oidc_client *client, const char *id);

/* [{id, name}] of all providers, for login pages. The caller owns it. */
struct json *oidc_client_list(const struct oidc_client *client);

/* Runs job.run on a thread that may call the functions below. ERR_LIMIT: too many wait. */
enum err oidc_client_submit(struct oidc_client *client,
                            const struct fair_queue_job *job) MUST_CHECK;

/*
 * --- in such a job. ERR_UNAVAILABLE: the provider does not answer. ERR_INVALID: its answer is not what
 * the standard asks for. Both are logged with the reason. ---
 */

/* Appends the address at the provider where the browser logs in. */
enum err oidc_client_login_url(struct oidc_client *client, const struct oidc_provider *provider,
                               const struct oidc_login *login, const char *redirect_uri,
                               struct strbuf *url) MUST_CHECK;

/* The same for its end (RP-initiated logout). ERR_NOT_FOUND: the provider has none. */
enum err oidc_client_logout_url(struct oidc_client *client, const struct oidc_provider *provider,
                                const char *return_uri, struct strbuf *url) MUST_CHECK;

/* Whether the answers of the provider always have the parameter iss (RFC 9207). */
enum err oidc_client_sends_issuer(struct oidc_client *client, const struct oidc_provider *provider,
                                  bool *sends) MUST_CHECK;

/*
 * Exchanges a code for the verified claims of the person, which the caller owns: those of the ID token,
 * and of the userinfo endpoint where the token lacks the address, the groups or a required claim.
 * ERR_NOT_FOUND: the provider refuses the code.
 */
enum err oidc_client_exchange(struct oidc_client *client, const struct oidc_provider *provider,
                              const struct oidc_login *login, const char *code,
                              const char *redirect_uri, struct json **claims) MUST_CHECK;

#endif
