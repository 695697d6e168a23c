/*
 * One thread at a time, as its request. What link_upsert.c needs of link_create.c, whose handlers are
 * in http/handlers.h.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_CREATE_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_CREATE_H

#include <stdbool.h>

#include "services/links-api/http/request.h"
#include "services/links-api/links/link_request.h"

/*
 * POST /api/links with a body that is read, and whose password is hashed. *is_taken: another link has
 * the external_id, and the request is not answered.
 */
enum http_progress link_create_unless_taken(struct request *r, struct link_request *input,
                                            bool *is_taken);

#endif
