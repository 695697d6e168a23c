/*
 * Safe from any thread. One flight per slug: the first who misses a slug starts asking the stores, everybody who comes
 * while that goes on waits for the same answer. A stampede on a cold slug costs one question.
 *
 * An answer "there is no such slug" holds only for those who came before the question was put: a link that was created
 * meanwhile must not be denied to somebody who has seen its 201. And whatever a slow store says, it does not hold for
 * those who came FLIGHT_TABLE_AGE_US after the question: they may have seen a change long before they came. Late comers
 * are asked about again.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_FLIGHT_TABLE_H
#define WAYMARK_SERVICES_REDIRECTOR_FLIGHT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/links/link.h"

/* Half of the second that an answer may be old. */
#define FLIGHT_TABLE_AGE_US (500 * CLOCK_US_PER_MS)

struct flight_table;

/* Told once; entry is borrowed and only there with OK. */
typedef void (*flight_landed)(void *ctx, void *passenger, enum err result, const struct link_entry *entry);

struct flight {
	struct flight *chain; /* the table's */
	struct flight_passenger *passengers;
	size_t asked_for; /* how many of the passengers came before the question was put */
	int64_t asked_us; /* steady: when that was */
	size_t count;
	uint64_t hash;
	int64_t began_us;
	char slug[SLUG_SIZE];
};

struct flight_table *flight_table_new(void);
/* Waits until no flight is on its way; nobody may board any more. */
void flight_table_free(struct flight_table *table);

/*
 * Boards the flight of slug. NULL: it is on its way already. Otherwise it is new and the caller's to fly: ask the
 * stores, then flight_table_land.
 */
struct flight *flight_table_board(struct flight_table *table, const char *slug, size_t slug_len, int64_t now_us,
                                  flight_landed landed, void *ctx, void *passenger);

/* Each time before a store is asked: from here on, comers are late. */
void flight_table_ask(struct flight_table *table, struct flight *flight, int64_t now_us);

/*
 * Tells the passengers whom the answer holds for. True: all were told and the flight is gone. False: late comers are
 * still on board and must be asked for again.
 */
bool flight_table_land(struct flight_table *table, struct flight *flight, enum err result,
                       const struct link_entry *entry) MUST_CHECK;

/* Flights on their way. */
size_t flight_table_count(struct flight_table *table);

#endif
