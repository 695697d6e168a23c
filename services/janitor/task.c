#include "services/janitor/task.h"

#define AWAY_DELAY_S 1
#define FAILED_DELAY_S 5

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t task_delay_s(const struct task *task, enum task_outcome outcome)
{
	switch (outcome) {
	case TASK_SKIPPED:
		return smaller(task->period_s, task->at_most_s);
	case TASK_AWAY:
		return smaller(task->period_s, AWAY_DELAY_S);
	case TASK_FAILED:
		return smaller(task->period_s, FAILED_DELAY_S);
	case TASK_DONE:
		break;
	}
	return task->period_s;
}
