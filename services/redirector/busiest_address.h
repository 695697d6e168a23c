/*
 * Safe from any thread. Watches how many visitors share one address. If nearly all do, it is the
 * address of a proxy or of a cluster node, not theirs: unique visitors, countries and the limit of
 * unknown slugs are wrong then.
 *
 * Visitors are counted in windows of BUSIEST_ADDRESS_WINDOW. A majority vote (Boyer and Moore)
 * finds the only address that more than half of a window can have; the next window counts it. So
 * the ratio is exact for an address that most visitors share, and says little about others.
 * Addresses are kept as keyed hashes.
 *
 * A visitor that arrives while another thread counts is skipped: no redirect waits for this.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_BUSIEST_ADDRESS_H
#define WAYMARK_SERVICES_REDIRECTOR_BUSIEST_ADDRESS_H

#include "lib/base/client_ip.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"

#define BUSIEST_ADDRESS_WINDOW 1000
/* Above this ratio a warning is logged; below half of it the next warning may follow. */
#define BUSIEST_ADDRESS_WARNING 0.9

struct busiest_address;

/* Registers waymark_busiest_address_ratio. */
struct busiest_address *busiest_address_new(const struct log *log, struct metrics *metrics);
void busiest_address_free(struct busiest_address *busiest);

/* An address that is not known is not counted. */
void busiest_address_record(struct busiest_address *busiest, const struct client_ip *visitor);

#endif
