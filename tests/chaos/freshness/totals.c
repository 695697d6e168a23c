#include "tests/chaos/freshness/totals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"

struct sum {
	uint64_t reads;
	uint64_t changes;
	uint64_t unknown;
	uint64_t verdicts[JUDGE_VERDICTS];
	uint64_t violations;
	int64_t worst_us;
	int64_t overdue_us;
	/* One per version. */
	int64_t *unseen_us;
	size_t versions;
	size_t room;
};

struct totals {
	const struct faults *faults;
	/* Per fault, the place of its sum: that of the first fault with its name. */
	size_t place[FAULTS_MAX];
	struct sum sums[FAULTS_MAX];
	struct sum all;
};

static size_t first_of_name(const struct faults *faults, size_t i)
{
	size_t first = 0;
	while (strcmp(faults->faults[first].name, faults->faults[i].name) != 0)
		first++;
	return first;
}

struct totals *totals_new(const struct faults *faults)
{
	struct totals *totals = mem_zero(sizeof(*totals));
	totals->faults = faults;
	for (size_t i = 0; i < faults->fault_count; i++)
		totals->place[i] = first_of_name(faults, i);
	return totals;
}

void totals_free(struct totals *totals)
{
	if (!totals)
		return;
	for (size_t i = 0; i < FAULTS_MAX; i++)
		free(totals->sums[i].unseen_us);
	free(totals->all.unseen_us);
	free(totals);
}

static struct sum *sum_at(struct totals *totals, int64_t at_us)
{
	return &totals->sums[totals->place[faults_at(totals->faults, at_us)]];
}

static void count_change(struct sum *sum, const struct history_change *change)
{
	sum->changes++;
	sum->unknown += change->outcome == HISTORY_UNKNOWN;
}

void totals_add_change(struct totals *totals, const struct history_change *change)
{
	count_change(sum_at(totals, change->begin_us), change);
	count_change(&totals->all, change);
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void count_read(struct sum *sum, const struct judge_finding *finding, bool is_violation)
{
	sum->reads++;
	sum->verdicts[finding->verdict]++;
	sum->violations += is_violation;
	sum->worst_us = larger(sum->worst_us, finding->stale_us);
	sum->overdue_us = larger(sum->overdue_us, finding->overdue_us);
}

bool totals_add_read(struct totals *totals, const struct history_read *read,
                     const struct judge_finding *finding)
{
	bool is_violation = finding->verdict >= JUDGE_STALE;
	if (finding->verdict == JUDGE_503)
		is_violation = !faults_excuse_503(totals->faults, read->begin_us,
		                                  read->begin_us + read->lasted_us);
	count_read(sum_at(totals, read->begin_us), finding, is_violation);
	count_read(&totals->all, finding, is_violation);
	return is_violation;
}

static void keep_unseen(struct sum *sum, int64_t unseen_us)
{
	if (sum->versions == sum->room) {
		sum->room = sum->room ? sum->room * 2 : 1024;
		sum->unseen_us = mem_resize(sum->unseen_us, sum->room, sizeof(*sum->unseen_us));
	}
	sum->unseen_us[sum->versions++] = unseen_us;
}

void totals_add_versions(struct totals *totals, const struct timeline_link *link)
{
	for (size_t i = 1; i < link->count; i++) {
		const struct timeline_version *v = &link->versions[i];
		if (!v->was_read)
			continue;
		keep_unseen(sum_at(totals, v->end_us), v->unseen_us);
		keep_unseen(&totals->all, v->unseen_us);
	}
}

uint64_t totals_violations(const struct totals *totals)
{
	return totals->all.violations;
}

static int compare(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
	return left < right ? -1 : left > right;
}

static double percentile_ms(const struct sum *sum, size_t percent)
{
	if (sum->versions == 0)
		return 0;
	size_t at = (sum->versions - 1) * percent / 100;
	return (double)sum->unseen_us[at] / 1000;
}

static void print_sum(struct sum *sum, const char *name)
{
	if (sum->versions > 0)
		qsort(sum->unseen_us, sum->versions, sizeof(*sum->unseen_us), compare);
	printf("fault=%s operations=%llu reads=%llu changes=%llu unknown=%llu violations=%llu",
	       name, (unsigned long long)sum->reads + sum->changes, (unsigned long long)sum->reads,
	       (unsigned long long)sum->changes, (unsigned long long)sum->unknown,
	       (unsigned long long)sum->violations);
	for (enum judge_verdict verdict = JUDGE_STALE; verdict < JUDGE_VERDICTS; verdict++)
		printf(" %s=%llu", judge_name(verdict), (unsigned long long)sum->verdicts[verdict]);
	printf(" unavailable=%llu no_answer=%llu worst_ms=%.1f versions=%zu p50_ms=%.1f p99_ms=%.1f overdue_ms=%.1f\n",
	       (unsigned long long)sum->verdicts[JUDGE_503],
	       (unsigned long long)sum->verdicts[JUDGE_NO_ANSWER], (double)sum->worst_us / 1000,
	       sum->versions, percentile_ms(sum, 50), percentile_ms(sum, 99),
	       (double)sum->overdue_us / 1000);
}

void totals_print(struct totals *totals)
{
	for (size_t i = 0; i < totals->faults->fault_count; i++) {
		if (totals->place[i] == i)
			print_sum(&totals->sums[i], totals->faults->faults[i].name);
	}
	print_sum(&totals->all, "all");
}
