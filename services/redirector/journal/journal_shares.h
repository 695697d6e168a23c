/*
 * How many bytes of one journal each link and each network of visitors holds. An event is admitted
 * while its link and its network each hold less than what is free. So one that sends most of the
 * clicks stops at half of the journal, two at a third each, and the rest stays for all others.
 *
 *       struct journal_share share = journal_shares_find(shares, slug, network);
 *       if (journal_shares_admit(shares, share, free_bytes))
 *               journal_shares_add(shares, share, bytes);      // appender
 *       journal_shares_remove(shares, share, bytes);           // shipper, once it has left
 *
 * The bytes are counted for buckets with a random key, so nobody can choose a link that shares the
 * bucket of another one. One appender and one shipper at a time, which may be two threads.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_JOURNAL_JOURNAL_SHARES_H
#define WAYMARK_SERVICES_REDIRECTOR_JOURNAL_JOURNAL_SHARES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOURNAL_SHARES_BUCKETS 4096

struct journal_shares {
	uint64_t key;
	_Atomic uint64_t links[JOURNAL_SHARES_BUCKETS];
	_Atomic uint64_t networks[JOURNAL_SHARES_BUCKETS];
};

/* The buckets of an event. 0: not counted. */
struct journal_share {
	uint16_t link;
	uint16_t network;
};

void journal_shares_init(struct journal_shares *shares);

/* network is "" if it is not known; then only the link counts. */
struct journal_share journal_shares_find(const struct journal_shares *shares, const char *slug,
                                         const char *network);

bool journal_shares_admit(const struct journal_shares *shares, struct journal_share share,
                          uint64_t free_bytes);

void journal_shares_add(struct journal_shares *shares, struct journal_share share, size_t bytes);
void journal_shares_remove(struct journal_shares *shares, struct journal_share share, size_t bytes);

#endif
