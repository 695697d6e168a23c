/*
 * RedirectBatch (proto/waymark/v1/redirect_event.proto): a record of the topic waymark.redirects.v1,
 * with events of one partition and one instance. It is written from encoded events and read without
 * copying them. Pure.
 *
 *   redirect_batch_init(&writer);
 *   redirect_batch_add(&writer, sequence, event, len);   // as often as it has room
 *   value = redirect_batch_end(&writer, instance, &len);
 *
 *   if (redirect_batch_open(value, len, &batch, reason) == OK)
 *           while (redirect_batch_next(&batch, &event, &len))
 *                   redirect_event_decode(event, len, &click, reason);
 */
#ifndef WAYMARK_LIB_CLICKS_REDIRECT_BATCH_H
#define WAYMARK_LIB_CLICKS_REDIRECT_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/entropy.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/clicks/redirect_event.h"
#include "lib/protobuf/protobuf.h"

#define REDIRECT_BATCH_TOPIC "waymark.redirects.v1"
#define REDIRECT_BATCH_DEAD_LETTER_TOPIC "waymark.redirects.dlq.v1"
#define REDIRECT_BATCH_TYPE "waymark.redirect-batch.v1"
#define REDIRECT_BATCH_SCHEMA "urn:waymark:proto:waymark.v1.RedirectBatch"

/* A writer takes no more; a reader refuses more. */
#define REDIRECT_BATCH_EVENTS_MAX 1024

/* It may write any number of batches, one after another. */
struct redirect_batch_writer {
	/* Of the batch that has not ended. */
	size_t count;
	uint64_t last_sequence;
	/* Its events, encoded. */
	struct strbuf events;
	struct strbuf steps;
};

void redirect_batch_init(struct redirect_batch_writer *writer);
void redirect_batch_clear(struct redirect_batch_writer *writer);
/* event: an encoded RedirectEvent, which is copied. writer->count < REDIRECT_BATCH_EVENTS_MAX. */
void redirect_batch_add(struct redirect_batch_writer *writer, uint64_t sequence, const void *event,
                        size_t len);
/* Returns the encoded batch; release it with free(). */
void *redirect_batch_end(struct redirect_batch_writer *writer,
                         const uint8_t instance[static ENTROPY_UUID_SIZE], size_t *len);

struct redirect_batch {
	uint8_t instance[ENTROPY_UUID_SIZE];
	/* Of all events. */
	size_t count;
	/* Of the event that redirect_batch_next returned last. */
	uint64_t sequence;
	/* What is not read yet. */
	struct protobuf_wire events, steps;
};

/*
 * The bytes are borrowed as long as batch is in use. ERR_INVALID: they are not a RedirectBatch with 1
 * to REDIRECT_BATCH_EVENTS_MAX events; reason says what is wrong. The events themselves are not
 * looked at.
 */
enum err redirect_batch_open(const void *bytes, size_t len, struct redirect_batch *out,
                             char reason[static REDIRECT_EVENT_REASON_SIZE]) MUST_CHECK;
/* The next event, borrowed, for redirect_event_decode. False: there is none. */
bool redirect_batch_next(struct redirect_batch *batch, const void **event, size_t *len);

#endif
