/*
 * A broker for a machine where Apache Kafka cannot be had: librdkafka's mock cluster with the topics of a topics file.
 * Everything is in memory (5 MiB or 100,000 messages per partition) and ends with the process.
 */
#include <stdio.h>
#include <stdlib.h>

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include "lib/base/err.h"
#include "lib/base/mem.h"
#include "lib/base/shutdown.h"
#include "lib/base/strbuf.h"
#include "tools/topics/topic_file.h"

#define USAGE_STATUS 64
#define PROBLEMS_MAX (16 * 1024)
#define MESSAGE_MAX 512

static bool make_topics(rd_kafka_mock_cluster_t *cluster, const struct topic_file *file)
{
	for (size_t i = 0; i < file->count; i++) {
		const struct kafka_topic *topic = &file->topics[i];
		rd_kafka_resp_err_t code = rd_kafka_mock_topic_create(cluster, topic->name, topic->partitions, 1);
		if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
			fprintf(stderr, "embedded-broker: %s: %s\n", topic->name, rd_kafka_err2str(code));
			return false;
		}
	}
	return true;
}

/* Written beside and renamed, so that a reader never sees half of it. */
static bool announce(const char *servers, const char *path)
{
	char beside[4096];
	snprintf(beside, sizeof(beside), "%s.new", path);
	FILE *file = fopen(beside, "we");
	if (!file || fprintf(file, "%s\n", servers) < 0 || fclose(file) != 0 || rename(beside, path) != 0) {
		perror(path);
		return false;
	}
	return true;
}

static bool serve(const struct topic_file *file, const char *bootstrap_path, struct shutdown *shutdown)
{
	char message[MESSAGE_MAX];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	/* The owner of a mock cluster is a client without brokers: its notice that it has none is no news. */
	rd_kafka_conf_set(conf, "log_level", "4", message, sizeof(message));
	rd_kafka_t *owner = rd_kafka_new(RD_KAFKA_PRODUCER, conf, message, sizeof(message));
	if (!owner) {
		rd_kafka_conf_destroy(conf);
		fprintf(stderr, "embedded-broker: %s\n", message);
		return false;
	}
	rd_kafka_mock_cluster_t *cluster = rd_kafka_mock_cluster_new(owner, 1);
	bool right = cluster && make_topics(cluster, file) &&
	             announce(rd_kafka_mock_cluster_bootstraps(cluster), bootstrap_path);
	if (right)
		shutdown_wait(shutdown);
	if (cluster)
		rd_kafka_mock_cluster_destroy(cluster);
	rd_kafka_destroy(owner);
	return right;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr,
		        "usage: embedded-broker TOPICS_FILE BOOTSTRAP_FILE\n"
		        "Serves the topics until SIGTERM; writes its address to BOOTSTRAP_FILE when it is ready.\n");
		return USAGE_STATUS;
	}
	struct shutdown *shutdown = shutdown_new();
	struct topic_file *file = mem_zero(sizeof(*file));
	struct strbuf problems;
	strbuf_init(&problems, PROBLEMS_MAX);
	int status = EXIT_FAILURE;
	if (topic_file_read(argv[1], file, &problems) == OK)
		status = serve(file, argv[2], shutdown) ? EXIT_SUCCESS : EXIT_FAILURE;
	else
		fprintf(stderr, "embedded-broker: %s:\n%s", argv[1], problems.data);
	strbuf_clear(&problems);
	free(file);
	shutdown_free(shutdown);
	return status;
}
