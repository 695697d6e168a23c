/*
 * Pure, except for topic_file_read. The list of topics in deploy/topics.conf: one per line,
 * "name partitions setting=value …". "#" starts a comment.
 */
#ifndef WAYMARK_TOOLS_TOPICS_TOPIC_FILE_H
#define WAYMARK_TOOLS_TOPICS_TOPIC_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "tools/topics/kafka_topics.h"

#define TOPIC_FILE_TOPICS_MAX 64

struct topic_file {
	struct kafka_topic topics[TOPIC_FILE_TOPICS_MAX];
	size_t count;
};

/*
 * Parses the text of the file. ERR_INVALID: problems has a line for each invalid line, with its
 * number ("line 4: the second word must be the number of partitions").
 */
enum err topic_file_parse(const char *text, struct topic_file *out,
                          struct strbuf *problems) MUST_CHECK;

/* Parses the file at path. ERR_INVALID as above, or the file cannot be read. */
enum err topic_file_read(const char *path, struct topic_file *out,
                         struct strbuf *problems) MUST_CHECK;

/* Adds the setting to each topic that does not set it. ERR_LIMIT: a topic has no room for it. */
enum err topic_file_set(struct topic_file *file, const char *name, int64_t value) MUST_CHECK;

#endif
