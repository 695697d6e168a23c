/* Pure. The common name of the site or app behind a referrer's host. */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_REFERRER_SOURCE_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_REFERRER_SOURCE_H

/*
 * Returns "Facebook" for "l.facebook.com", "Google" for "www.google.co.uk", "Gmail" for
 * "mail.google.com" and for the app "com.google.android.gm". host: as referrer_host writes it. The
 * result is a literal of at most 31 bytes; "" for an unknown host.
 */
const char *referrer_source_of(const char *host);

#endif
