/*
 * Pure. The Bidi rule of RFC 5893, which browsers hold international host names against (UTS 46, CheckBidi), and libidn2
 * does not hold in full: names that mix directions so that they cannot be told apart when they are shown.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_DESTINATIONS_HOST_BIDI_H
#define WAYMARK_SERVICES_LINKS_API_DESTINATIONS_HOST_BIDI_H

#include <stdbool.h>

/* name: valid UTF-8, labels as U-labels. True as well for names without any character that is written from the right. */
bool host_bidi_is_good(const char *name);

#endif
