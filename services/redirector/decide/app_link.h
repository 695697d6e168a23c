/* Pure. Destinations that an app opens: URLs with another scheme than http and https. */
#ifndef WAYMARK_SERVICES_REDIRECTOR_DECIDE_APP_LINK_H
#define WAYMARK_SERVICES_REDIRECTOR_DECIDE_APP_LINK_H

#include <stdbool.h>

#include "lib/base/strbuf.h"

bool app_link_is_app(const char *url);

/*
 * Appends the URL by which browsers of Android open the app of url, or fallback_url if no app does:
 * "intent://open/7#Intent;scheme=shop;S.browser_fallback_url=https%3A%2F%2Fexample.com;end". url: of
 * an app, in normal form.
 */
void app_link_add_intent(const char *url, const char *fallback_url, struct strbuf *out);

#endif
