/*
 * Destinations with the scheme of an app, "myapp://item/7" or "tel:+4930123", for which
 * DESTINATION_SCHEMES must name the scheme. Nothing but the scheme is read: what follows belongs to
 * the app. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_DESTINATIONS_APP_URL_H
#define WAYMARK_SERVICES_LINKS_API_DESTINATIONS_APP_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"
#include "lib/links/link.h"

#define APP_URL_SCHEME_MAX 32

/*
 * True if DESTINATION_SCHEMES may have the entry: lower-case letters, digits, "+", "." and "-" behind
 * a letter. Never those that browsers run, show or open on the visitor's machine, such as javascript,
 * data and file; nor http and https, which every link may have.
 */
bool app_url_scheme_is_valid(const char *scheme);

/*
 * Writes the normal form: a lower-case scheme, and printable ASCII with escapes for the rest.
 * schemes: as DESTINATION_SCHEMES. ERR_NOT_FOUND: text does not begin with one of them.
 * ERR_INVALID: reason is a phrase as destination_parse has it.
 */
enum err app_url_parse(const char *schemes, const char *text, size_t len,
                       char out[static LINK_URL_SIZE], const char **reason) MUST_CHECK;

#endif
