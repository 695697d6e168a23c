#include "lib/clicks/redirect_batch.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/mem.h"

enum field { INSTANCE = 1, SEQUENCE_STEPS = 2, EVENTS = 3 };

#define VARINT_BYTES_MAX 10
#define STEPS_BYTES_MAX ((size_t)REDIRECT_BATCH_EVENTS_MAX * VARINT_BYTES_MAX)
#define EVENTS_BYTES_MAX                                                                           \
	((size_t)(REDIRECT_BATCH_EVENTS_MAX + 2) *                                                 \
	 (REDIRECT_EVENT_BYTES_MAX + 2 * PROTOBUF_HEAD_BYTES_MAX))

/* --- writing --- */

void redirect_batch_init(struct redirect_batch_writer *writer)
{
	*writer = (struct redirect_batch_writer){ 0 };
	strbuf_init(&writer->events, EVENTS_BYTES_MAX);
	strbuf_init(&writer->steps, STEPS_BYTES_MAX);
}

void redirect_batch_clear(struct redirect_batch_writer *writer)
{
	strbuf_clear(&writer->events);
	strbuf_clear(&writer->steps);
}

void redirect_batch_add(struct redirect_batch_writer *writer, uint64_t sequence, const void *event,
                        size_t len)
{
	uint8_t head[PROTOBUF_HEAD_BYTES_MAX], step[VARINT_BYTES_MAX];
	strbuf_add(&writer->events, head, (size_t)(protobuf_put_length(head, EVENTS, len) - head));
	strbuf_add(&writer->events, event, len);
	strbuf_add(&writer->steps, step,
	           (size_t)(protobuf_put_varint(step, sequence - writer->last_sequence) - step));
	writer->last_sequence = sequence;
	writer->count++;
}

/* The order of fields is free. The events stand first, because they are in place already. */
void *redirect_batch_end(struct redirect_batch_writer *writer,
                         const uint8_t instance[static ENTROPY_UUID_SIZE], size_t *len)
{
	uint8_t head[2 * PROTOBUF_HEAD_BYTES_MAX + ENTROPY_UUID_SIZE];
	uint8_t *at = protobuf_put_bytes(head, INSTANCE, instance, ENTROPY_UUID_SIZE);
	at = protobuf_put_length(at, SEQUENCE_STEPS, writer->steps.len);
	strbuf_add(&writer->events, head, (size_t)(at - head));
	strbuf_add(&writer->events, writer->steps.data, writer->steps.len);
	strbuf_reset(&writer->steps);
	writer->count = 0;
	writer->last_sequence = 0;
	return strbuf_take(&writer->events, len);
}

/* --- reading --- */

/* Sets instance, count and steps; returns what is wrong, or NULL. */
static const char *look_through(struct protobuf_wire wire, struct redirect_batch *out)
{
	struct protobuf_field field;
	bool has_instance = false;
	enum err err;
	while ((err = protobuf_next(&wire, &field)) == OK) {
		if (field.number <= EVENTS && field.type != PROTOBUF_LENGTH)
			return "batch";
		if (field.number == INSTANCE) {
			has_instance = field.len == sizeof(out->instance);
			if (!has_instance)
				return "instance";
			memcpy(out->instance, field.bytes, field.len);
		} else if (field.number == SEQUENCE_STEPS) {
			const uint8_t *steps = (const uint8_t *)field.bytes;
			out->steps = (struct protobuf_wire){ steps, steps + field.len };
		} else if (field.number == EVENTS && ++out->count > REDIRECT_BATCH_EVENTS_MAX) {
			return "events";
		}
	}
	if (err != ERR_NOT_FOUND)
		return "batch";
	if (!has_instance)
		return "instance";
	return out->count > 0 ? NULL : "events";
}

static bool has_step_per_event(const struct redirect_batch *batch)
{
	struct protobuf_wire steps = batch->steps;
	uint64_t step;
	size_t count = 0;
	while (protobuf_next_varint(&steps, &step))
		count++;
	return steps.at == steps.end && count == batch->count;
}

enum err redirect_batch_open(const void *bytes, size_t len, struct redirect_batch *out,
                             char reason[static REDIRECT_EVENT_REASON_SIZE])
{
	*out = (struct redirect_batch){ .events = { bytes, (const uint8_t *)bytes + len } };
	const char *problem = look_through(out->events, out);
	if (!problem && !has_step_per_event(out))
		problem = "sequence_steps";
	if (problem)
		snprintf(reason, REDIRECT_EVENT_REASON_SIZE, "%s", problem);
	return problem ? ERR_INVALID : OK;
}

bool redirect_batch_next(struct redirect_batch *batch, const void **event, size_t *len)
{
	struct protobuf_field field;
	uint64_t step = 0;
	do {
		if (protobuf_next(&batch->events, &field) != OK)
			return false;
	} while (field.number != EVENTS);
	(void)protobuf_next_varint(&batch->steps, &step);
	batch->sequence += step;
	*event = field.bytes;
	*len = field.len;
	return true;
}
