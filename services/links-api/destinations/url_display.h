/*
 * Destinations as people see them, for searches: the host in Unicode, and escapes as the text that
 * they stand for. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_DESTINATIONS_URL_DISPLAY_H
#define WAYMARK_SERVICES_LINKS_API_DESTINATIONS_URL_DISPLAY_H

#include "lib/links/link.h"
#include "services/links-api/destinations/host_idna.h"

#define URL_DISPLAY_SIZE (LINK_URL_SIZE + HOST_IDNA_UNICODE_SIZE)

/*
 * "https://bücher.example/a b" for "https://xn--bcher-kva.example/a%20b". Escapes of control
 * characters and of bytes that are no UTF-8 stay. "" if that is the URL itself, which is in normal
 * form (destination.h).
 */
void url_display_write(const char *url, char out[static URL_DISPLAY_SIZE]);

#endif
