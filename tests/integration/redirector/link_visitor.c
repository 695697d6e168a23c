#include "tests/integration/redirector/link_visitor.h"

#include <stdio.h>
#include <string.h>

#include "lib/clicks/redirect_batch.h"
#include "tests/support/test.h"

void link_visitor_assert_leads(struct fixture *f, const char *name, const char *headers,
                               const char *location)
{
	char found[4096];
	unsigned status = fixture_get_link(f, name, headers);
	http_fixture_header(&f->answer, "Location", found, sizeof(found));
	if (status != 302 || strcmp(found, location) != 0)
		fail_msg("%s\n%s: %u %s, not %s", name, headers, status, found, location);
}

void link_visitor_get_below(struct fixture *f, const char *name, const char *more,
                            const char *headers)
{
	char target[256], slug[SLUG_SIZE];
	snprintf(target, sizeof(target), "GET /%s%s", fixture_slug(f, name, slug), more);
	fixture_request(f, target, headers);
}

void link_visitor_read_events(struct fixture *f, const char *name, struct event_read *events,
                              size_t count)
{
	char slug[SLUG_SIZE];
	event_reader_read(&(struct event_reader){ .kafka = &f->config.kafka,
	                                          .topic = REDIRECT_BATCH_TOPIC,
	                                          .slug = fixture_slug(f, name, slug),
	                                          .log = f->log },
	                  events, count);
}
