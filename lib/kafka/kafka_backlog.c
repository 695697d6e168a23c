#include "lib/kafka/kafka_backlog.h"

#include <math.h>
#include <string.h>

/* A longer gap may hide anything. */
#define GAP_SHARE_MAX (1.0 / 16)
/* Of all events: a gap that changes the sum by less is not worth a read. */
#define DOUBT_SHARE_MAX 0.01
/* A gap of at most so many records is read from its start, as far as one response reaches. */
#define RUN_RECORDS 50

/* The records between two runs. */
struct gap {
	int64_t first, end;
	double events;
	/* By how many events that may be wrong, if the density is between those of the runs. */
	double doubt;
	/* Nothing says so. */
	bool is_unknown;
};

static double density(const struct kafka_backlog_run *run)
{
	return run->events / (double)(run->end - run->first);
}

static double greatest_density(const struct kafka_backlog *b)
{
	double greatest = b->before > 1 ? b->before : 1;
	for (size_t i = 0; i < b->count; i++) {
		if (density(&b->runs[i]) > greatest)
			greatest = density(&b->runs[i]);
	}
	return greatest;
}

/* Gap i is before run i; the last one is after all runs. */
static struct gap gap_at(const struct kafka_backlog *b, size_t i)
{
	const struct kafka_backlog_run *left = i > 0 ? &b->runs[i - 1] : NULL;
	const struct kafka_backlog_run *right = i < b->count ? &b->runs[i] : NULL;
	double before = left ? density(left) : b->before;
	if (before == 0)
		before = right ? density(right) : 1;
	double after = right ? density(right) : before;
	struct gap gap = { .first = left ? left->end : b->first,
		           .end = right ? right->first : b->end };
	double len = (double)(gap.end - gap.first);
	gap.events = len * (before + after) / 2;
	gap.is_unknown = (!left && b->before == 0) || !right ||
	                 len > GAP_SHARE_MAX * (double)(b->end - b->first);
	gap.doubt = len * fabs(before - after) / 2;
	return gap;
}

void kafka_backlog_set(struct kafka_backlog *b, int64_t first, int64_t end)
{
	bool is_another = b->count > 0 && b->runs[b->count - 1].end > end;
	if (is_another || first < b->first)
		b->before = 0;
	if (is_another)
		b->count = 0;
	size_t gone = 0;
	while (gone < b->count && b->runs[gone].end <= first)
		b->before = density(&b->runs[gone++]);
	b->count -= gone;
	memmove(b->runs, b->runs + gone, b->count * sizeof(*b->runs));
	if (b->count > 0 && b->runs[0].first < first) {
		b->runs[0].events = density(b->runs) * (double)(b->runs[0].end - first);
		b->runs[0].first = first;
	}
	b->first = first;
	b->end = end;
}

bool kafka_backlog_next(const struct kafka_backlog *b, struct kafka_backlog_run *out)
{
	struct gap worst = { 0 };
	double greatest = greatest_density(b);
	for (size_t i = 0; i <= b->count; i++) {
		struct gap gap = gap_at(b, i);
		if (gap.is_unknown)
			gap.doubt = (double)(gap.end - gap.first) * greatest;
		if (gap.doubt > worst.doubt)
			worst = gap;
	}
	if (worst.doubt <= DOUBT_SHARE_MAX * kafka_backlog_events(b))
		return false;
	*out = (struct kafka_backlog_run){ .first = worst.first, .end = worst.end };
	if (worst.end - worst.first <= RUN_RECORDS || worst.first == b->first)
		return true;
	/* The newest records, which say most about those to come; or the middle. */
	out->first = worst.end == b->end ? worst.end - RUN_RECORDS
	                                 : worst.first + (worst.end - worst.first) / 2;
	return true;
}

static void merge_smallest_neighbours(struct kafka_backlog *b)
{
	size_t at = 0;
	double least = INFINITY;
	for (size_t i = 0; i + 1 < b->count; i++) {
		double events = b->runs[i].events + gap_at(b, i + 1).events + b->runs[i + 1].events;
		if (events < least) {
			least = events;
			at = i;
		}
	}
	b->runs[at].end = b->runs[at + 1].end;
	b->runs[at].events = least;
	b->count--;
	memmove(&b->runs[at + 1], &b->runs[at + 2], (b->count - at - 1) * sizeof(*b->runs));
}

void kafka_backlog_add(struct kafka_backlog *b, struct kafka_backlog_run run)
{
	size_t at = b->count++;
	for (; at > 0 && b->runs[at - 1].first > run.first; at--)
		b->runs[at] = b->runs[at - 1];
	b->runs[at] = run;
	if (b->count > KAFKA_BACKLOG_RUNS_MAX)
		merge_smallest_neighbours(b);
}

double kafka_backlog_events(const struct kafka_backlog *b)
{
	double sum = gap_at(b, 0).events;
	for (size_t i = 0; i < b->count; i++)
		sum += b->runs[i].events + gap_at(b, i + 1).events;
	return sum;
}
