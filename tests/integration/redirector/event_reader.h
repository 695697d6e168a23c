/* One thread at a time. For tests: reads the events of a fixture's redirectors from Kafka. */
#ifndef WAYMARK_TESTS_INTEGRATION_REDIRECTOR_EVENT_READER_H
#define WAYMARK_TESTS_INTEGRATION_REDIRECTOR_EVENT_READER_H

#include <stddef.h>

#include "lib/clicks/redirect_event.h"
#include "tests/integration/redirector/fixture.h"

/* Reads the first count events of the link with that name, in order. */
void event_reader_read(struct fixture *f, const char *name, struct redirect_event *events,
                       size_t count);

#endif
