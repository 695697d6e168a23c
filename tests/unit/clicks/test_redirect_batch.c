#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/clicks/redirect_batch.h"
#include "tests/support/test.h"
#include "waymark/v1/redirect_event.pb-c.h"

/* The fields of the .proto. */
enum { INSTANCE = 1, SEQUENCE_STEPS = 2, EVENTS = 3, NEWER = 100 };

/* Of one shard whose other events went to other partitions. */
static const uint64_t sequences[] = { 7, 8, 20, 1000020, UINT64_MAX };
#define COUNT ARRAY_SIZE(sequences)
static const uint8_t instance[ENTROPY_UUID_SIZE] = { 1, 2, [15] = 16 };

static size_t encode_event(int64_t link_id, uint8_t out[static REDIRECT_EVENT_BYTES_MAX])
{
	const struct redirect_event event = { .event_id = { (uint8_t)link_id },
		                              .occurred_at_us = 1700000000123456,
		                              .link_id = link_id,
		                              .link_version = 1,
		                              .status = 302,
		                              .method = REDIRECT_METHOD_GET,
		                              .slug = "abc" };
	return redirect_event_encode(&event, out);
}

/* A batch with events of the links 1 to count. Release it with free(). */
static void *write_batch(struct redirect_batch_writer *writer, size_t count, size_t *len)
{
	uint8_t event[REDIRECT_EVENT_BYTES_MAX];
	for (size_t i = 0; i < count; i++)
		redirect_batch_add(writer, i < COUNT ? sequences[i] : i, event,
		                   encode_event((int64_t)i + 1, event));
	return redirect_batch_end(writer, instance, len);
}

static void assert_reads(const void *bytes, size_t len, size_t count)
{
	char reason[REDIRECT_EVENT_REASON_SIZE];
	struct redirect_batch batch;
	struct redirect_event click;
	const void *event;
	size_t event_len;
	assert_int_equal(redirect_batch_open(bytes, len, &batch, reason), OK);
	assert_memory_equal(batch.instance, instance, sizeof(instance));
	assert_int_equal(batch.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_true(redirect_batch_next(&batch, &event, &event_len));
		assert_int_equal(redirect_event_decode(event, event_len, &click, reason), OK);
		assert_int_equal(click.link_id, i + 1);
		if (i < COUNT)
			assert_int_equal(batch.sequence, sequences[i]);
	}
	assert_false(redirect_batch_next(&batch, &event, &event_len));
}

TEST_CASE(reads_what_it_wrote)
{
	struct redirect_batch_writer writer;
	size_t len;
	redirect_batch_init(&writer);
	/* A batch begins with its own sequence, whatever the one before ended with. */
	for (int i = 0; i < 2; i++) {
		void *bytes = write_batch(&writer, COUNT, &len);
		assert_reads(bytes, len, COUNT);
		free(bytes);
	}
	redirect_batch_clear(&writer);
}

TEST_CASE(holds_as_many_events_as_the_header_says)
{
	struct redirect_batch_writer writer;
	struct redirect_batch batch;
	char reason[REDIRECT_EVENT_REASON_SIZE] = "";
	size_t len;
	redirect_batch_init(&writer);
	void *bytes = write_batch(&writer, REDIRECT_BATCH_EVENTS_MAX, &len);
	assert_reads(bytes, len, REDIRECT_BATCH_EVENTS_MAX);
	free(bytes);
	bytes = write_batch(&writer, REDIRECT_BATCH_EVENTS_MAX + 1, &len);
	assert_int_equal(redirect_batch_open(bytes, len, &batch, reason), ERR_INVALID);
	assert_string_equal(reason, "events");
	free(bytes);
	redirect_batch_clear(&writer);
}

/* The reader and the writer are hand-written. This proves that they speak the .proto. */
TEST_CASE(reads_and_writes_what_the_generated_code_does)
{
	struct redirect_batch_writer writer;
	uint64_t sequence = 0;
	size_t len;
	redirect_batch_init(&writer);
	void *bytes = write_batch(&writer, COUNT, &len);
	Waymark__V1__RedirectBatch *read = waymark__v1__redirect_batch__unpack(NULL, len, bytes);
	assert_non_null(read);
	assert_int_equal(read->base.n_unknown_fields, 0);
	assert_int_equal(read->instance.len, sizeof(instance));
	assert_memory_equal(read->instance.data, instance, sizeof(instance));
	assert_int_equal(read->n_events, COUNT);
	assert_int_equal(read->n_sequence_steps, COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		sequence += read->sequence_steps[i];
		assert_int_equal(sequence, sequences[i]);
		assert_int_equal(read->events[i]->link_id, i + 1);
	}
	uint8_t *written = mem_zero(waymark__v1__redirect_batch__get_packed_size(read));
	assert_reads(written, waymark__v1__redirect_batch__pack(read, written), COUNT);
	waymark__v1__redirect_batch__free_unpacked(read, NULL);
	redirect_batch_clear(&writer);
	free(written);
	free(bytes);
}

/* --- foreign bytes --- */

struct foreign {
	uint8_t bytes[512];
	uint8_t *end;
};

static void add(struct foreign *foreign, uint32_t field, const void *bytes, size_t len)
{
	foreign->end = protobuf_put_length(foreign->end, field, len);
	memcpy(foreign->end, bytes, len);
	foreign->end += len;
}

/* A batch of two events, unless something is left out or replaced. */
struct shape {
	bool has_no_instance;
	size_t instance_len;
	bool has_no_steps;
	const char *steps;
	size_t steps_len;
	bool has_no_events;
	/* A field with another type than the .proto's. */
	uint32_t number_in;
	uint32_t group_in;
};

static void assert_foreign(struct shape shape, const char *problem)
{
	struct foreign foreign = { .end = foreign.bytes };
	struct redirect_batch batch;
	char reason[REDIRECT_EVENT_REASON_SIZE] = "";
	if (!shape.has_no_steps)
		add(&foreign, SEQUENCE_STEPS, shape.steps ? shape.steps : "\x05\x02",
		    shape.steps ? shape.steps_len : 2);
	if (!shape.has_no_instance)
		add(&foreign, INSTANCE, instance,
		    shape.instance_len ? shape.instance_len : sizeof(instance));
	if (shape.number_in)
		foreign.end = protobuf_put_number(foreign.end, shape.number_in, 5);
	if (shape.group_in)
		foreign.end = protobuf_put_varint(foreign.end, shape.group_in << 3 | 3);
	for (int i = 0; i < 2 && !shape.has_no_events; i++) {
		add(&foreign, EVENTS, "event", 5);
		add(&foreign, NEWER, "of a newer sender", 17);
	}
	enum err err = redirect_batch_open(foreign.bytes, (size_t)(foreign.end - foreign.bytes),
	                                   &batch, reason);
	assert_int_equal(err, problem ? ERR_INVALID : OK);
	assert_string_equal(reason, problem ? problem : "");
}

TEST_CASE(takes_fields_in_any_order_and_skips_those_of_a_newer_sender)
{
	assert_foreign((struct shape){ 0 }, NULL);
	assert_foreign((struct shape){ .number_in = NEWER }, NULL);
}

TEST_CASE(refuses_a_batch_without_a_valid_instance)
{
	assert_foreign((struct shape){ .has_no_instance = true }, "instance");
	assert_foreign((struct shape){ .instance_len = 15 }, "instance");
	assert_foreign((struct shape){ .instance_len = 1 }, "instance");
}

TEST_CASE(refuses_a_batch_without_events)
{
	assert_foreign((struct shape){ .has_no_events = true }, "events");
	assert_foreign((struct shape){ .has_no_events = true, .has_no_steps = true }, "events");
}

TEST_CASE(refuses_other_than_one_step_per_event)
{
	assert_foreign((struct shape){ .has_no_steps = true }, "sequence_steps");
	assert_foreign((struct shape){ .steps = "", .steps_len = 0 }, "sequence_steps");
	assert_foreign((struct shape){ .steps = "\x05", .steps_len = 1 }, "sequence_steps");
	assert_foreign((struct shape){ .steps = "\x05\x02\x01", .steps_len = 3 }, "sequence_steps");
	assert_foreign((struct shape){ .steps = "\x05\x02\x82", .steps_len = 3 }, "sequence_steps");
	assert_foreign((struct shape){ .steps = "\x05\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
	                               .steps_len = 12 },
	               "sequence_steps");
}

TEST_CASE(refuses_wrong_wire_types)
{
	assert_foreign((struct shape){ .number_in = INSTANCE }, "batch");
	assert_foreign((struct shape){ .number_in = SEQUENCE_STEPS }, "batch");
	assert_foreign((struct shape){ .number_in = EVENTS }, "batch");
	assert_foreign((struct shape){ .group_in = NEWER }, "batch");
}

TEST_CASE(refuses_every_truncation)
{
	struct redirect_batch_writer writer;
	struct redirect_batch batch;
	size_t len;
	redirect_batch_init(&writer);
	void *bytes = write_batch(&writer, COUNT, &len);
	for (size_t cut = 0; cut < len; cut++) {
		char reason[REDIRECT_EVENT_REASON_SIZE] = "";
		/* A copy of its own, so that reading beyond it is found. */
		void *prefix = mem_copy(bytes, cut);
		assert_int_equal(redirect_batch_open(prefix, cut, &batch, reason), ERR_INVALID);
		assert_true(reason[0] != '\0');
		free(prefix);
	}
	redirect_batch_clear(&writer);
	free(bytes);
}

/* They are single dead letters, not a reason to refuse the others. */
TEST_CASE(does_not_look_at_the_events)
{
	struct redirect_batch_writer writer;
	struct redirect_batch batch;
	char reason[REDIRECT_EVENT_REASON_SIZE];
	const void *event;
	size_t len, event_len;
	redirect_batch_init(&writer);
	redirect_batch_add(&writer, 1, "", 0);
	redirect_batch_add(&writer, 2, "\xff", 1);
	void *bytes = redirect_batch_end(&writer, instance, &len);
	assert_int_equal(redirect_batch_open(bytes, len, &batch, reason), OK);
	assert_true(redirect_batch_next(&batch, &event, &event_len));
	assert_int_equal(event_len, 0);
	assert_true(redirect_batch_next(&batch, &event, &event_len));
	assert_memory_equal(event, "\xff", event_len);
	redirect_batch_clear(&writer);
	free(bytes);
}

TEST_MAIN()
