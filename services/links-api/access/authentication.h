/*
 * One thread at a time, as its request. Who asks, and whether he may: an access token or an API key, and what the
 * database says about its account at this moment. Nothing of that is kept between requests: a block, a new password or
 * a revoked key counts from the next request on.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCESS_AUTHENTICATION_H
#define WAYMARK_SERVICES_LINKS_API_ACCESS_AUTHENTICATION_H

#include "services/links-api/request.h"

/*
 * "Authorization: Bearer <access token or API key>", or "X-Api-Key: <API key>" when there is no Bearer. GOOD: it could
 * be right as far as can be seen without the database; r->proof is filled. Does not block. Two headers of one name are
 * BAD: a proxy might have believed the other.
 */
enum request_login authentication_read(struct request *r);

/* After a GOOD one: asks the database, and fills user_id, key_id, role and scopes when it is still GOOD. */
enum err authentication_prove(struct request *r, enum request_login *login) MUST_CHECK;

/*
 * Whether the caller has the right (enum routes_right). If not, the request has been answered: 403 "scope" when the API
 * key lacks it, 403 "forbidden" when only an admin has it.
 */
bool authentication_permits(struct request *r, unsigned right);

/* Answers one that is not GOOD: 401, or 403 "blocked". */
enum http_progress authentication_refuse(struct request *r, enum request_login login);

#endif
