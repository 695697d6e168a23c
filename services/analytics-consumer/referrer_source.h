/*
 * Pure. Who stands behind the host of a referrer: the name that a person would say.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_REFERRER_SOURCE_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_REFERRER_SOURCE_H

/*
 * "Facebook" for "l.facebook.com", "Google" for "www.google.co.uk", "Gmail" for "mail.google.com" and for the app
 * "com.google.android.gm". host: as referrer_host gives it. A literal of at most 31 bytes; "" for everybody else.
 */
const char *referrer_source_of(const char *host);

#endif
