#include "tests/chaos/freshness/case_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/mem.h"

#define BEFORE_US INT64_C(3000000)
#define AFTER_US INT64_C(500000)
#define CHANGES_MAX 30
#define READS_MAX 4000

struct violation {
	struct history_read read;
	struct judge_finding finding;
	int64_t bound_us;
	const char *fault;
	struct history_read *reads;
	size_t count;
};

struct case_report {
	struct violation violations[CASE_REPORT_MAX];
	size_t count;
};

struct case_report *case_report_new(void)
{
	return mem_zero(sizeof(struct case_report));
}

void case_report_free(struct case_report *report)
{
	if (!report)
		return;
	for (size_t i = 0; i < report->count; i++)
		free(report->violations[i].reads);
	free(report);
}

void case_report_add(struct case_report *report, const struct history_read *read,
                     const struct judge_finding *finding, int64_t bound_us, const char *fault)
{
	if (report->count == CASE_REPORT_MAX)
		return;
	for (size_t i = 0; i < report->count; i++) {
		if (report->violations[i].read.link == read->link)
			return;
	}
	report->violations[report->count++] = (struct violation){
		.read = *read,
		.finding = *finding,
		.bound_us = bound_us,
		.fault = fault,
		.reads = mem_array(READS_MAX, sizeof(*read)),
	};
}

void case_report_add_context(void *ctx, const struct history_read *read)
{
	struct case_report *report = ctx;
	for (size_t i = 0; i < report->count; i++) {
		struct violation *o = &report->violations[i];
		int64_t since_us = read->begin_us - o->read.begin_us;
		if (read->link == o->read.link && since_us >= -BEFORE_US && since_us <= AFTER_US &&
		    o->count < READS_MAX)
			o->reads[o->count++] = *read;
	}
}

static double ms(int64_t us)
{
	return (double)us / 1000;
}

static void print_answer(const struct history_read *read)
{
	if (read->status == 0)
		printf("no answer");
	else if (read->destination != 0)
		printf("%u to destination %" PRIu32, read->status, read->destination);
	else
		printf("%u", read->status);
}

static void print_change(const struct history_change *change, int64_t origin_us)
{
	printf("    %10.1f … %10.1f ms  %s", ms(change->begin_us - origin_us),
	       ms(change->end_us - origin_us), history_act_name(change->act));
	if (change->act == HISTORY_LOOK && change->is_deleted)
		printf(": deleted");
	else if (change->destination != 0)
		printf(" destination %" PRIu32, change->destination);
	if (change->expires_us != 0 && change->act != HISTORY_DELETE &&
	    change->act != HISTORY_RESTORE)
		printf(", expires at %.1f ms", ms(change->expires_us - origin_us));
	printf(": %s, status %u, version %" PRIu32 "\n", history_outcome_name(change->outcome),
	       change->status, change->version);
}

static bool is_same_answer(const struct history_read *a, const struct history_read *b)
{
	return a->redirector == b->redirector && a->status == b->status &&
	       a->destination == b->destination;
}

/* Consecutive equal answers of one redirector share a line. */
static void print_reads(const struct violation *o)
{
	for (size_t i = 0, next; i < o->count; i = next) {
		const struct history_read *first = &o->reads[i];
		for (next = i + 1; next < o->count && is_same_answer(first, &o->reads[next]);
		     next++)
			;
		const struct history_read *last = &o->reads[next - 1];
		printf("    %10.1f … %10.1f ms  redirector %u: ",
		       ms(first->begin_us - o->read.begin_us),
		       ms(last->begin_us + last->lasted_us - o->read.begin_us), first->redirector);
		print_answer(first);
		printf(next - i > 1 ? ", %zu times\n" : "\n", next - i);
	}
}

static int compare(const void *a, const void *b)
{
	const struct history_read *left = a, *right = b;
	if (left->redirector != right->redirector)
		return left->redirector < right->redirector ? -1 : 1;
	return left->begin_us < right->begin_us ? -1 : left->begin_us > right->begin_us;
}

static void print_violation(struct violation *o, size_t number, const struct timeline *timeline)
{
	size_t count;
	const struct history_change *changes = timeline_changes(timeline, o->read.link, &count);
	printf("violation %zu during %s: %s: link %" PRIu32 " (%s) at %" PRId64
	       " µs, redirector %u: ",
	       number, o->fault, judge_name(o->finding.verdict), o->read.link,
	       count ? changes[0].slug : "never made", o->read.begin_us, o->read.redirector);
	print_answer(&o->read);
	printf(" after %.1f ms; replaced %.1f ms before, expired %.1f ms before, bound %.0f ms\n",
	       ms(o->read.lasted_us), ms(o->finding.stale_us), ms(o->finding.overdue_us),
	       ms(o->bound_us));
	printf("  changes\n");
	size_t end = count;
	while (end > 0 && changes[end - 1].begin_us > o->read.begin_us + AFTER_US)
		end--;
	for (size_t i = end > CHANGES_MAX ? end - CHANGES_MAX : 0; i < end; i++)
		print_change(&changes[i], o->read.begin_us);
	printf("  reads\n");
	qsort(o->reads, o->count, sizeof(*o->reads), compare);
	print_reads(o);
}

void case_report_print(struct case_report *report, const struct timeline *timeline)
{
	for (size_t i = 0; i < report->count; i++)
		print_violation(&report->violations[i], i + 1, timeline);
}
