/* One thread at a time. For tests: visitors of several kinds, and what becomes of them. */
#ifndef WAYMARK_TESTS_INTEGRATION_REDIRECTOR_LINK_VISITOR_H
#define WAYMARK_TESTS_INTEGRATION_REDIRECTOR_LINK_VISITOR_H

#include "tests/integration/redirector/event_reader.h"
#include "tests/integration/redirector/fixture.h"

/* Header lines. */
#define IPHONE                                                                                     \
	"User-Agent: Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) "                      \
	"AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1\r\n"
#define ANDROID                                                                                    \
	"User-Agent: Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like "    \
	"Gecko) Chrome/126.0.0.0 Mobile Safari/537.36\r\n"
#define FIREFOX                                                                                    \
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0\r\n"
#define FACEBOOK                                                                                   \
	"User-Agent: facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)\r\n"
#define FROM_BERLIN "X-Forwarded-For: 203.0.113.9\r\n"
#define FROM_NOWHERE "X-Forwarded-For: 198.51.100.9\r\n"
#define BROWSER "Accept: text/html\r\n"
#define GERMAN "Accept-Language: de-AT,en;q=0.9\r\n"

/* Asserts that a visitor with these header lines gets 302 and this Location. */
void link_visitor_assert_leads(struct fixture *f, const char *name, const char *headers,
                               const char *location);
/* GET /<slug><more> */
void link_visitor_get_below(struct fixture *f, const char *name, const char *more,
                            const char *headers);
/* The first count events of the link. */
void link_visitor_read_events(struct fixture *f, const char *name, struct event_read *events,
                              size_t count);

#endif
