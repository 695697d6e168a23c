/*
 * Safe from any thread. Takes visits of links with a limit (lib/links/visit_limit.h). PostgreSQL is
 * asked once for all visitors of a link who wait at that moment, so a crowd costs one statement
 * after the other, not one for each visitor:
 *
 *   visitors   a b  c d e        f
 *   takes       [a]   [b c d e]    [f]
 *
 * What PostgreSQL said of a link is known for VISIT_TAKER_KNOWN_US: visitors of a link that is used
 * up, and bots, then need no statement.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_GATE_VISIT_TAKER_H
#define WAYMARK_SERVICES_REDIRECTOR_GATE_VISIT_TAKER_H

#include "services/redirector/gate/link_gate.h"

#define VISIT_TAKER_KNOWN_US (500 * CLOCK_US_PER_MS)

struct visit_taker;

/* Everything is borrowed. */
struct visit_taker *visit_taker_new(struct pg_pool *postgres, const struct clock *clock,
                                    struct metrics *metrics);
/* Answers who still waits. NULL is allowed. */
void visit_taker_free(struct visit_taker *taker);

/* As link_gate_take_visit, which suspends x; it is only passed on. */
void visit_taker_take(struct visit_taker *taker, int64_t link_id, bool spends,
                      struct http_exchange *x, link_gate_visit_callback on_done, void *ctx);

#endif
