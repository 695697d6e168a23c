/*
 * A broker for machines without Apache Kafka: librdkafka's mock cluster, with the topics of a
 * topics file. All data is in memory (5 MiB or 100,000 messages per partition) and is lost when the
 * process ends.
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

static bool create_topics(rd_kafka_mock_cluster_t *cluster, const struct topic_file *file)
{
	for (size_t i = 0; i < file->count; i++) {
		const struct kafka_topic *topic = &file->topics[i];
		rd_kafka_resp_err_t code =
			rd_kafka_mock_topic_create(cluster, topic->name, topic->partitions, 1);
		if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
			fprintf(stderr, "embedded-broker: %s: %s\n", topic->name,
			        rd_kafka_err2str(code));
			return false;
		}
	}
	return true;
}

/* Writes the address atomically: to a temporary file, which is then renamed. */
static bool write_bootstrap_file(const char *servers, const char *path)
{
	char temporary[4096];
	snprintf(temporary, sizeof(temporary), "%s.new", path);
	FILE *file = fopen(temporary, "we");
	if (!file || fprintf(file, "%s\n", servers) < 0 || fclose(file) != 0 ||
	    rename(temporary, path) != 0) {
		perror(path);
		return false;
	}
	return true;
}

static bool serve(const struct topic_file *file, const char *bootstrap_path,
                  struct shutdown *shutdown)
{
	char message[MESSAGE_MAX];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	/*
	 * A mock cluster needs a client, which has no brokers. Its log message about that is
	 * suppressed.
	 */
	rd_kafka_conf_set(conf, "log_level", "4", message, sizeof(message));
	rd_kafka_t *client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, message, sizeof(message));
	if (!client) {
		rd_kafka_conf_destroy(conf);
		fprintf(stderr, "embedded-broker: %s\n", message);
		return false;
	}
	rd_kafka_mock_cluster_t *cluster = rd_kafka_mock_cluster_new(client, 1);
	bool is_ready =
		cluster && create_topics(cluster, file) &&
		write_bootstrap_file(rd_kafka_mock_cluster_bootstraps(cluster), bootstrap_path);
	if (is_ready)
		shutdown_wait(shutdown);
	if (cluster)
		rd_kafka_mock_cluster_destroy(cluster);
	rd_kafka_destroy(client);
	return is_ready;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr,
		        "usage: embedded-broker TOPICS_FILE BOOTSTRAP_FILE\n"
		        "Serves the topics until SIGTERM. Writes its address to BOOTSTRAP_FILE when it is ready.\n");
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
