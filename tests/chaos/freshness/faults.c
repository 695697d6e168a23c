#include "tests/chaos/freshness/faults.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LINE_SIZE 160

static bool add(struct faults_span *spans, size_t *count, const char *name, int64_t begin_us,
                int64_t end_us)
{
	if (*count == FAULTS_MAX || end_us < begin_us)
		return false;
	struct faults_span *span = &spans[(*count)++];
	snprintf(span->name, sizeof(span->name), "%s", name);
	span->begin_us = begin_us;
	span->end_us = end_us;
	return true;
}

/* NOLINTBEGIN(cert-err34-c): the lines are the harness's own */
static bool take_line(struct faults *f, const char *line)
{
	char name[FAULTS_NAME_SIZE];
	int64_t begin_us, end_us;
	if (sscanf(line, "fault %47s %" SCNd64 " %" SCNd64, name, &begin_us, &end_us) == 3)
		return add(f->faults, &f->fault_count, name, begin_us, end_us);
	if (sscanf(line, "kafka-away %" SCNd64 " %" SCNd64, &begin_us, &end_us) == 2)
		return add(f->kafka_away, &f->kafka_away_count, "", begin_us, end_us);
	if (sscanf(line, "stores-away %" SCNd64 " %" SCNd64, &begin_us, &end_us) == 2)
		return add(f->stores_away, &f->stores_away_count, "", begin_us, end_us);
	if (sscanf(line, "settled %" SCNd64 " %" SCNd64, &begin_us, &end_us) == 2)
		return add(f->settled, &f->settled_count, "", begin_us, end_us);
	return sscanf(line, "bound-factor %" SCNd64, &f->bound_factor) == 1 && f->bound_factor > 0;
}
/* NOLINTEND(cert-err34-c) */

bool faults_read(const char *path, struct faults *out)
{
	char line[LINE_SIZE];
	bool is_right = true;
	FILE *file = fopen(path, "r");
	if (!file) {
		perror(path);
		return false;
	}
	memset(out, 0, sizeof(*out));
	out->bound_factor = 1;
	while (is_right && fgets(line, sizeof(line), file))
		is_right = take_line(out, line);
	fclose(file);
	if (!is_right)
		fprintf(stderr, "%s: cannot be understood: %s\n", path, line);
	else if (out->fault_count == 0)
		fprintf(stderr, "%s: names no fault\n", path);
	return is_right && out->fault_count > 0;
}

size_t faults_at(const struct faults *faults, int64_t at_us)
{
	size_t low = 0, high = faults->fault_count;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (faults->faults[middle].begin_us <= at_us)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static bool is_within(const struct faults_span *spans, size_t count, int64_t begin_us,
                      int64_t end_us)
{
	for (size_t i = 0; i < count; i++) {
		if (spans[i].begin_us <= end_us && begin_us <= spans[i].end_us)
			return true;
	}
	return false;
}

int64_t faults_bound_us(const struct faults *faults, int64_t begin_us, int64_t end_us)
{
	for (size_t i = 0; i < faults->settled_count; i++) {
		if (begin_us >= faults->settled[i].begin_us && end_us <= faults->settled[i].end_us)
			return 0;
	}
	int64_t without_kafka_us = FAULTS_BOUND_WITHOUT_KAFKA_US * faults->bound_factor;
	bool was_away = is_within(faults->kafka_away, faults->kafka_away_count,
	                          begin_us - without_kafka_us, end_us);
	return was_away ? without_kafka_us : FAULTS_BOUND_US * faults->bound_factor;
}

bool faults_excuse_503(const struct faults *faults, int64_t begin_us, int64_t end_us)
{
	return is_within(faults->stores_away, faults->stores_away_count, begin_us, end_us);
}
