/*
 * The address of a page of the dashboard, for mails: below DASHBOARD_URL, or else PUBLIC_BASE_URL.
 * Never the Host of a request, which a stranger chooses. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_HTTP_PAGE_URL_H
#define WAYMARK_SERVICES_LINKS_API_HTTP_PAGE_URL_H

#include "services/links-api/http/config.h"

#define PAGE_URL_SIZE 1280

/*
 * Writes "https://api.sho.rt/app/reset#wmr_…" for page "reset" and fragment "wmr_…". Browsers send no
 * fragment, so that no log has it.
 */
void page_url(const struct config *config, const char *page, const char *fragment,
              char out[static PAGE_URL_SIZE]);

#endif
