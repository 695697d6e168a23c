#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/env.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/base/program.h"
#include "lib/base/strbuf.h"
#include "lib/kafka/kafka_config.h"
#include "tools/topics/kafka_topics.h"
#include "tools/topics/topic_file.h"

#define PROBLEMS_MAX (16 * 1024)
#define EXIT_TEMPORARY 75 /* EX_TEMPFAIL */

struct config {
	struct kafka_config kafka;
	char topics_file[512];
	int64_t replication;
	int64_t min_insync;
	int64_t timeout_ms;
};

static const struct env_var vars[] = {
	KAFKA_CONFIG_VARS(struct config, kafka),
	ENV_TEXT("TOPICS_FILE", struct config, topics_file, "deploy/topics.conf",
	         "the list of topics"),
	ENV_INT("TOPICS_REPLICATION", struct config, replication, "-1", -1, 100,
	        "replicas of each partition; -1 = the brokers' default"),
	ENV_INT("TOPICS_MIN_INSYNC", struct config, min_insync, "-1", -1, 100,
	        "min.insync.replicas of topics whose line does not set it: replicas that must have a record before it "
	        "counts as written; -1 = the brokers' default"),
	ENV_INT("TOPICS_TIMEOUT_MS", struct config, timeout_ms, "30000", 1, 3600000,
	        "how long to wait for the brokers"),
};

static enum err read_topics(const struct config *config, struct topic_file *file,
                            struct strbuf *problems)
{
	enum err err = topic_file_read(config->topics_file, file, problems);
	/* 0 and -1 leave the brokers' default. */
	if (err == OK && config->min_insync > 0)
		err = topic_file_set(file, "min.insync.replicas", config->min_insync);
	if (err == ERR_LIMIT)
		strbuf_add_text(problems,
		                "a topic has too many settings to add min.insync.replicas\n");
	return err;
}

/* Each line of what is wrong with the file under the name of its variable. */
static size_t check_file(const struct config *config, struct strbuf *problems)
{
	struct topic_file *file = mem_zero(sizeof(*file));
	struct strbuf wrong;
	size_t count = 0;
	char *rest = NULL;
	strbuf_init(&wrong, PROBLEMS_MAX);
	if (read_topics(config, file, &wrong) != OK) {
		for (char *line = strtok_r(wrong.data, "\n", &rest); line;
		     line = strtok_r(NULL, "\n", &rest), count++)
			strbuf_add_format(problems, "TOPICS_FILE: %s: %s\n", config->topics_file,
			                  line);
	}
	strbuf_clear(&wrong);
	free(file);
	return count;
}

static size_t check_copies(const struct config *config, struct strbuf *problems)
{
	size_t wrong = env_expect(config->replication != 0, "TOPICS_REPLICATION",
	                          "is 0: use 1 or more, or -1 for the brokers' default", problems);
	/* Kafka would create such topics and refuse each write to them. */
	bool is_right = config->replication < 1 || config->min_insync <= config->replication;
	return wrong + env_expect(is_right, "TOPICS_MIN_INSYNC",
	                          "is greater than TOPICS_REPLICATION: no record could be written",
	                          problems);
}

static size_t check(const void *arg, struct strbuf *problems)
{
	const struct config *config = arg;
	size_t wrong = kafka_config_check(&config->kafka, problems);
	wrong += check_copies(config, problems);
	return config->topics_file[0] ? wrong + check_file(config, problems) : wrong;
}

static const struct program program = {
	.name = "waymark-topics",
	.summary =
		"creates missing Kafka topics and checks existing ones; safe to run again at any time",
	.vars = vars,
	.var_count = ARRAY_SIZE(vars),
	.config_size = sizeof(struct config),
	.check = check,
};

static int ensure(const struct config *config, const struct topic_file *file)
{
	struct log *log = log_new(program.name, LOG_INFO, 2);
	struct kafka_topics_config wanted = {
		.kafka = &config->kafka,
		.replication = (int)config->replication,
		.timeout_ms = config->timeout_ms,
		.log = log,
	};
	enum err result = kafka_topics_ensure(&wanted, file->topics, file->count);
	log_free(log);
	if (result == OK)
		printf("%s: all %zu topics of %s exist\n", program.name, file->count,
		       config->topics_file);
	return result == OK                ? EXIT_SUCCESS
	       : result == ERR_UNAVAILABLE ? EXIT_TEMPORARY
	                                   : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	struct config config;
	int status = program_start(&program, argc, argv, &config);
	if (status != PROGRAM_RUN)
		return status;
	struct topic_file *file = mem_zero(sizeof(*file));
	struct strbuf problems;
	strbuf_init(&problems, PROBLEMS_MAX);
	if (read_topics(&config, file, &problems) == OK) {
		status = ensure(&config, file);
	} else { /* the file has changed since it was checked */
		fprintf(stderr, "%s: %s:\n%s", program.name, config.topics_file, problems.data);
		status = PROGRAM_EXIT_USAGE;
	}
	strbuf_clear(&problems);
	free(file);
	return status;
}
