/*
 * One thread at a time, as its request. What link_upsert.c needs of link_handlers.c, whose handlers are
 * in http/handlers.h.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_HANDLERS_H

#include "services/links-api/http/request.h"
#include "services/links-api/links/link_request.h"

/* PATCH of the link of request_path_id with a body that is read. */
enum http_progress link_handlers_apply(struct request *r, const struct link_request *changes);

#endif
