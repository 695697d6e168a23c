#include "services/redirector/answer_metrics.h"

#include <stdlib.h>

#include "lib/base/mem.h"

/* The commonest first: each answer walks this list. */
static const struct {
	unsigned status;
	const char *labels;
} known[] = {
	{ 302, "status=\"302\"" }, { 301, "status=\"301\"" }, { 307, "status=\"307\"" }, { 308, "status=\"308\"" },
	{ 404, "status=\"404\"" }, { 410, "status=\"410\"" }, { 429, "status=\"429\"" }, { 503, "status=\"503\"" },
	{ 200, "status=\"200\"" }, { 451, "status=\"451\"" }, { 405, "status=\"405\"" }, { 400, "status=\"400\"" },
	{ 500, "status=\"500\"" },
};
#define KNOWN (sizeof(known) / sizeof(known[0]))

struct answer_metrics {
	struct metric *counts[KNOWN + 1]; /* the last: of other statuses */
};

struct answer_metrics *answer_metrics_new(struct metrics *metrics)
{
	static const char name[] = "waymark_redirector_answers_total";
	static const char help[] = "Responses to visitors by status.";
	struct answer_metrics *answers = mem_zero(sizeof(*answers));
	for (size_t i = 0; i < KNOWN; i++)
		answers->counts[i] = metrics_counter(metrics, name, help, known[i].labels);
	answers->counts[KNOWN] = metrics_counter(metrics, name, help, "status=\"other\"");
	return answers;
}

void answer_metrics_free(struct answer_metrics *answers)
{
	free(answers);
}

void answer_metrics_count(struct answer_metrics *answers, unsigned status)
{
	size_t i = 0;
	while (i < KNOWN && known[i].status != status)
		i++;
	metrics_add(answers->counts[i], 1);
}
