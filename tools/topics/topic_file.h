/*
 * Pure. The list of topics in deploy/topics.conf: one per line, "name partitions setting=value …"; "#" begins a
 * comment.
 */
#ifndef WAYMARK_TOOLS_TOPICS_TOPIC_FILE_H
#define WAYMARK_TOOLS_TOPICS_TOPIC_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/net/kafka_topics.h"

#define TOPIC_FILE_TOPICS_MAX 64

struct topic_file {
	struct kafka_topic topics[TOPIC_FILE_TOPICS_MAX];
	size_t count;
};

/*
 * Reads the text of the file. ERR_INVALID: lines are wrong, each named with its number in problems
 * ("line 4: 0 is not a number of partitions").
 */
enum err topic_file_parse(const char *text, struct topic_file *out, struct strbuf *problems) MUST_CHECK;

/* The same from the file at path; that it cannot be read is a problem, too. */
enum err topic_file_read(const char *path, struct topic_file *out, struct strbuf *problems) MUST_CHECK;

/* Gives each topic this setting that has none of the name. ERR_LIMIT: one has no room for it, and none was changed. */
enum err topic_file_set(struct topic_file *file, const char *name, int64_t value) MUST_CHECK;

#endif
