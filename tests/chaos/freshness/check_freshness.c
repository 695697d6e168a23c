/*
 * Judges whether the redirectors of a history (history.h) were fresh. Prints the first violations
 * and a line per fault (totals.h). Reads stream by and are judged
 * one by one; only changes are kept in memory. Exit status: 0 without a violation, 1 with
 * violations, 2 if the history cannot be read.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/chaos/freshness/totals.h"

#define PATH_SIZE 4096
#define PRINTED_MAX 10

struct check {
	const char *folder;
	struct faults faults;
	struct timeline *timeline;
	struct totals *totals;
};

static void take_change(void *ctx, const struct history_change *change)
{
	struct check *c = ctx;
	timeline_add(c->timeline, change);
	totals_add_change(c->totals, change);
}

static void print_violation(const struct history_read *read, const struct judge_finding *finding,
                            int64_t bound_us, const char *fault)
{
	printf("violation during %s: %s: link %" PRIu32 " at %" PRId64
	       " us, redirector %u: status %u, destination %" PRIu32 ", replaced %" PRId64
	       " us before, expired %" PRId64 " us before, bound %" PRId64 " us\n",
	       fault, judge_name(finding->verdict), read->link, read->begin_us, read->redirector,
	       read->status, read->destination, finding->stale_us, finding->overdue_us, bound_us);
}

static void take_read(void *ctx, const struct history_read *read)
{
	struct check *c = ctx;
	struct timeline_link *link = timeline_link(c->timeline, read->link);
	int64_t bound_us =
		faults_bound_us(&c->faults, read->begin_us, read->begin_us + read->lasted_us);
	struct judge_finding finding = judge_read(link, read, bound_us);
	judge_note(link, read, &finding);
	if (totals_add_read(c->totals, read, &finding) &&
	    totals_violations(c->totals) <= PRINTED_MAX)
		print_violation(read, &finding, bound_us,
		                c->faults.faults[faults_at(&c->faults, read->begin_us)].name);
}

/* Calls each for every file of the folder whose name begins with prefix. */
static bool each_file(struct check *c, const char *prefix,
                      bool (*each)(struct check *c, const char *path))
{
	char path[PATH_SIZE];
	size_t found = 0;
	bool is_right = true;
	DIR *folder = opendir(c->folder);
	if (!folder) {
		perror(c->folder);
		return false;
	}
	for (struct dirent *entry; is_right && (entry = readdir(folder)) != NULL;) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", c->folder, entry->d_name);
		is_right = each(c, path);
		found++;
	}
	closedir(folder);
	if (found == 0)
		fprintf(stderr, "%s: has no file %s…\n", c->folder, prefix);
	return is_right && found > 0;
}

static bool take_changes(struct check *c, const char *path)
{
	return history_each_change(path, take_change, c);
}

static bool take_reads(struct check *c, const char *path)
{
	return history_each_read(path, take_read, c);
}

static bool run(struct check *c)
{
	if (!each_file(c, "changes-", take_changes))
		return false;
	timeline_settle(c->timeline);
	if (!each_file(c, "reads-", take_reads))
		return false;
	for (size_t i = 0; i < timeline_links(c->timeline); i++)
		totals_add_versions(c->totals, timeline_link(c->timeline, (uint32_t)i));
	totals_print(c->totals);
	return true;
}

int main(int argc, char **argv)
{
	struct check c = { .folder = argc == 3 ? argv[1] : NULL };
	if (!c.folder) {
		fprintf(stderr, "usage: check_freshness FOLDER FAULTS\n"
		                "  FOLDER  has the files changes-… and reads-…\n"
		                "  FAULTS  says what was done when (faults.h)\n");
		return 64;
	}
	if (!faults_read(argv[2], &c.faults))
		return 2;
	c.timeline = timeline_new();
	c.totals = totals_new(&c.faults);
	bool is_read = run(&c);
	uint64_t violations = totals_violations(c.totals);
	timeline_free(c.timeline);
	totals_free(c.totals);
	return is_read ? violations > 0 : 2;
}
