#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "tests/support/test.h"
#include "tools/topics/kafka_topics.h"

struct fixture {
	struct kafka_config kafka;
	struct kafka_topics_config config;
	struct log *log;
	/* The log's output. */
	FILE *logged;
};

static int set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	snprintf(f->kafka.brokers, sizeof(f->kafka.brokers), "%s", getenv("KAFKA_BROKERS"));
	f->logged = tmpfile();
	f->log = log_new("test", LOG_INFO, fileno(f->logged));
	f->config = (struct kafka_topics_config){
		.kafka = &f->kafka, .replication = -1, .timeout_ms = 30000, .log = f->log
	};
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	log_free(f->log);
	fclose(f->logged);
	free(f);
	return 0;
}

/* A topic name that no other test or run uses. */
static struct kafka_topic unique_topic(int32_t partitions, const char *retention_ms)
{
	struct timespec now;
	struct kafka_topic topic = { .partitions = partitions, .setting_count = 1 };
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(topic.name, sizeof(topic.name), "test.topics.%d.%ld", (int)getpid(), now.tv_nsec);
	snprintf(topic.settings[0].name, sizeof(topic.settings[0].name), "retention.ms");
	snprintf(topic.settings[0].value, sizeof(topic.settings[0].value), "%s", retention_ms);
	return topic;
}

/* The number of log lines that contain text. */
static int count_logged(const struct fixture *f, const char *text)
{
	char line[LOG_LINE_MAX + 1];
	int count = 0;
	rewind(f->logged);
	while (fgets(line, sizeof(line), f->logged))
		count += strstr(line, text) != NULL;
	return count;
}

static void creates_missing_topics_and_changes_nothing_in_a_second_run(void **state)
{
	struct fixture *f = *state;
	struct kafka_topic topics[] = { unique_topic(3, "1000000"), unique_topic(1, "2000000") };
	assert_int_equal(kafka_topics_ensure(&f->config, topics, 2), OK);
	assert_int_equal(count_logged(f, "topic_created"), 2);
	assert_int_equal(kafka_topics_ensure(&f->config, topics, 2), OK);
	assert_int_equal(count_logged(f, "topic_created"), 2);
}

static void logs_each_difference_of_an_existing_topic(void **state)
{
	struct fixture *f = *state;
	struct kafka_topic topic = unique_topic(2, "1000000");
	assert_int_equal(kafka_topics_ensure(&f->config, &topic, 1), OK);

	topic.partitions = 5;
	snprintf(topic.settings[0].value, sizeof(topic.settings[0].value), "3000000");
	assert_int_equal(kafka_topics_ensure(&f->config, &topic, 1), ERR_CONFLICT);
	assert_int_equal(count_logged(f, "\"partitions\":2,\"wanted\":5"), 1);
	assert_int_equal(count_logged(f, "\"value\":\"1000000\",\"wanted\":\"3000000\""), 1);
}

static void reports_a_topic_that_rejects_the_batches_of_the_producers(void **state)
{
	struct fixture *f = *state;
	struct kafka_topic topic = unique_topic(1, "1000000");
	topic.setting_count = 2;
	snprintf(topic.settings[1].name, sizeof(topic.settings[1].name), "max.message.bytes");
	snprintf(topic.settings[1].value, sizeof(topic.settings[1].value), "999999");
	assert_int_equal(kafka_topics_ensure(&f->config, &topic, 1), ERR_CONFLICT);
	assert_int_equal(count_logged(f, "\"value\":\"999999\",\"wanted_at_least\":1000000"), 1);
}

static void logs_the_reason_when_the_brokers_refuse_a_topic(void **state)
{
	struct fixture *f = *state;
	struct kafka_topic topic = unique_topic(1, "not a number");
	assert_int_equal(kafka_topics_ensure(&f->config, &topic, 1), ERR_INVALID);
	assert_int_equal(count_logged(f, "topic_rejected"), 1);
}

static void gives_up_when_no_broker_answers_in_time(void **state)
{
	struct fixture *f = *state;
	struct kafka_topic topic = unique_topic(1, "1000000");
	snprintf(f->kafka.brokers, sizeof(f->kafka.brokers), "127.0.0.1:1");
	f->config.timeout_ms = 300;
	assert_int_equal(kafka_topics_ensure(&f->config, &topic, 1), ERR_UNAVAILABLE);
}

int main(void)
{
	const char *broker = getenv("BROKER");
	if (broker && strcmp(broker, "embedded") == 0) {
		printf("skipped tools_topics: the embedded broker does not support admin requests\n");
		return 0;
	}
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			creates_missing_topics_and_changes_nothing_in_a_second_run, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(logs_each_difference_of_an_existing_topic, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(
			reports_a_topic_that_rejects_the_batches_of_the_producers, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(logs_the_reason_when_the_brokers_refuse_a_topic,
		                                set_up, tear_down),
		cmocka_unit_test_setup_teardown(gives_up_when_no_broker_answers_in_time, set_up,
		                                tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
