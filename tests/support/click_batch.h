/* Clicks as a record of the topic of redirects. */
#ifndef WAYMARK_TESTS_SUPPORT_CLICK_BATCH_H
#define WAYMARK_TESTS_SUPPORT_CLICK_BATCH_H

#include <stddef.h>

#include "lib/base/strbuf.h"
#include "lib/clicks/redirect_event.h"

/* Appends a RedirectBatch with these clicks, at most REDIRECT_BATCH_EVENTS_MAX, and sequences from 1. */
void click_batch_encode(const struct redirect_event *clicks, size_t count, struct strbuf *out);

#endif
