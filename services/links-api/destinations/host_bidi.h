/*
 * The Bidi rule of RFC 5893 for international host names (UTS 46, CheckBidi). Browsers enforce it,
 * libidn2 only in part. It rejects names that mix writing directions so that they look alike on
 * screen. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_DESTINATIONS_HOST_BIDI_H
#define WAYMARK_SERVICES_LINKS_API_DESTINATIONS_HOST_BIDI_H

#include <stdbool.h>

/* name: valid UTF-8 with U-labels. True also for names without right-to-left characters. */
bool host_bidi_is_valid(const char *name);

#endif
