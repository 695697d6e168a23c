/*
 * One thread at a time. Messages that are no RedirectEvents, kept for operators: each goes to the dead-letter topic
 * with its bytes, its key, and as headers why and where it was:
 *
 *   reason     "visitor_hash", the field that breaks a promise, or what is wrong with the whole, or the header that
 *             says that it is something else ("ce_type: waymark.link.v1")
 *   topic, partition, offset    where it stood; there it stays until retention ends
 *   bytes      how long it was; value and key are cut at DEAD_LETTER_BYTES_MAX and DEAD_LETTER_KEY_MAX, so that no
 *             message is too large to be kept
 *
 * They are sent inside the batch's transaction, after the fence: a process that is not the owner any more sends
 * nothing, and the offset passes a message only after Kafka acknowledged its dead letter. So each stands there once,
 * but for one case: the process or its connection dies between the acknowledgement and the commit. Then the next owner
 * sends it again with the same topic, partition and offset.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_DEAD_LETTER_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_DEAD_LETTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/net/kafka_consumer.h"
#include "lib/net/kafka_producer.h"

/* With key and headers below the 1,000,000 bytes that producers and brokers take by default. */
#define DEAD_LETTER_BYTES_MAX ((size_t)900000)
#define DEAD_LETTER_KEY_MAX ((size_t)256)

struct dead_letter_list;

/* count_max: the most of one batch; bytes_max: adding stops being possible beyond it. topic is borrowed. */
struct dead_letter_list *dead_letter_list_new(size_t count_max, size_t bytes_max, const char *topic,
                                              const char *dead_letter_topic);
/* The producer they were sent by must be gone, or have reported on all of them. */
void dead_letter_list_free(struct dead_letter_list *letters);

/* Copies message and reason. */
void dead_letter_list_add(struct dead_letter_list *letters, const struct kafka_message *message, const char *reason);
bool dead_letter_list_is_full(const struct dead_letter_list *letters);
size_t dead_letter_list_length(const struct dead_letter_list *letters);

/*
 * Sends those that are not acknowledged yet and waits; may be called again until OK. Acknowledged ones are not sent
 * again. ERR_UNAVAILABLE: some are not acknowledged within timeout_ms.
 */
enum err dead_letter_list_send(struct dead_letter_list *letters, struct kafka_producer *producer,
                               int64_t timeout_ms) MUST_CHECK;

/* How many of them the last dead_letter_list_send has waited for in vain. */
size_t dead_letter_list_overdue(const struct dead_letter_list *letters);

/* Empties it after the batch was stored or thrown away. Letters still on their way live on until reported on. */
void dead_letter_list_reset(struct dead_letter_list *letters);

#endif
