#include "tests/chaos/freshness/judge.h"

static bool is_redirect(const struct history_read *read)
{
	return read->status >= 300 && read->status < 400;
}

static int64_t end_of(const struct history_read *read)
{
	return read->begin_us + read->lasted_us;
}

/* Returns when version i stopped being current. */
static int64_t replaced_at(const struct timeline_link *link, size_t i)
{
	return i + 1 < link->count ? link->versions[i + 1].end_us : HISTORY_NEVER_US;
}

/* Returns whether the version shows such an answer, without regard to its expiry. */
static bool shows(const struct timeline_version *v, const struct history_read *read)
{
	switch (read->status) {
	case 200:
		return v->shown == TIMELINE_LINK && v->is_locked;
	case 404:
		return v->shown == TIMELINE_NOTHING;
	case 410:
		return v->shown == TIMELINE_LINK && v->expires_us != 0 &&
		       end_of(read) >= v->expires_us - JUDGE_CLOCK_US;
	default:
		return is_redirect(read) && v->shown == TIMELINE_LINK && !v->is_locked &&
		       v->destination == read->destination;
	}
}

static int64_t overdue_us(const struct timeline_version *v, const struct history_read *read)
{
	bool is_over = is_redirect(read) && v->expires_us != 0 && read->begin_us > v->expires_us;
	return is_over ? read->begin_us - v->expires_us : 0;
}

static int64_t stale_us(const struct timeline_link *link, size_t i, const struct history_read *read)
{
	int64_t until_us = replaced_at(link, i);
	return read->begin_us > until_us ? read->begin_us - until_us : 0;
}

/* No allowed version explains the answer. Finds out whether an older one does. */
static enum judge_verdict blame(const struct timeline_link *link, const struct history_read *read,
                                size_t newest, int64_t *stale)
{
	for (size_t i = newest + 1; i-- > 0;) {
		if (!shows(&link->versions[i], read))
			continue;
		*stale = stale_us(link, i, read);
		return i == 0 ? JUDGE_MISSING : JUDGE_STALE;
	}
	if (is_redirect(read))
		return JUDGE_NEVER;
	return read->status == 404 ? JUDGE_MISSING : read->status == 410 ? JUDGE_GONE : JUDGE_OTHER;
}

static size_t newest_begun(const struct timeline_link *link, int64_t at_us)
{
	size_t i = link->count - 1;
	while (i > 0 && link->versions[i].begin_us > at_us)
		i--;
	return i;
}

static bool is_allowed(const struct timeline_link *link, size_t i, const struct history_read *read,
                       int64_t bound_us)
{
	/*
	 * Version 0, an unknown slug, has no bound: once the creation is acknowledged it must not
	 * be shown.
	 */
	return replaced_at(link, i) >= read->begin_us - (i == 0 ? 0 : bound_us);
}

struct judge_finding judge_read(const struct timeline_link *link, const struct history_read *read,
                                int64_t bound_us)
{
	struct judge_finding finding = { .verdict =
		                                 read->status == 0 ? JUDGE_NO_ANSWER : JUDGE_503 };
	if (read->status == 0 || read->status == 503)
		return finding;
	size_t newest = newest_begun(link, end_of(read));
	bool is_expired = false;
	for (size_t i = newest + 1; i-- > 0 && is_allowed(link, i, read, bound_us);) {
		if (!shows(&link->versions[i], read))
			continue;
		int64_t overdue = overdue_us(&link->versions[i], read);
		if (!is_expired)
			finding = (struct judge_finding){ JUDGE_EXPIRED, stale_us(link, i, read),
				                          overdue };
		is_expired = true;
		if (overdue > JUDGE_CLOCK_US)
			continue;
		finding = (struct judge_finding){ JUDGE_RIGHT, stale_us(link, i, read), overdue };
		return finding;
	}
	if (!is_expired)
		finding.verdict = blame(link, read, newest, &finding.stale_us);
	return finding;
}

void judge_note(struct timeline_link *link, const struct history_read *read,
                const struct judge_finding *finding)
{
	if (finding->verdict == JUDGE_NO_ANSWER || finding->verdict == JUDGE_503)
		return;
	for (size_t i = link->count; i-- > 1;) {
		struct timeline_version *v = &link->versions[i];
		if (v->end_us >= read->begin_us)
			continue;
		int64_t unseen_us = read->begin_us - v->end_us;
		v->was_read = true;
		if (unseen_us > finding->stale_us)
			break; /* this version and all before it were seen */
		if (unseen_us > v->unseen_us)
			v->unseen_us = unseen_us;
	}
}

const char *judge_name(enum judge_verdict verdict)
{
	static const char *const names[] = {
		"right",   "no answer", "503",   "stale", "expired",
		"missing", "gone",      "never", "other",
	};
	return verdict < JUDGE_VERDICTS ? names[verdict] : "?";
}
