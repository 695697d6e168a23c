#include "lib/tracing/otlp.h"

#include <opentelemetry/otlp.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/protobuf/protobuf.h"

#define NS_PER_US 1000
#define SERVER_ERROR 500
#define NAME_SIZE 128 /* the method and the longest route */
#define ATTRIBUTES 3

/* An attribute and the pointers that protobuf-c wants for it. */
struct attribute {
	Otlp__KeyValue pair;
	Otlp__AnyValue value;
};

/* A span as a message, with everything that it points to. */
struct message {
	Otlp__Span span;
	Otlp__Status status;
	struct attribute attributes[ATTRIBUTES];
	Otlp__KeyValue *list[ATTRIBUTES];
	char name[NAME_SIZE];
};

static void set_key(struct attribute *attribute, const char *key)
{
	otlp__key_value__init(&attribute->pair);
	otlp__any_value__init(&attribute->value);
	attribute->pair.key = (char *)key;
	attribute->pair.value = &attribute->value;
}

static void set_text(struct attribute *attribute, const char *key, const char *text)
{
	set_key(attribute, key);
	attribute->value.value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	attribute->value.string_value = (char *)text;
}

static void set_number(struct attribute *attribute, const char *key, int64_t number)
{
	set_key(attribute, key);
	attribute->value.value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
	attribute->value.int_value = number;
}

static Otlp__KeyValue **list_of(struct attribute *attributes, size_t count, Otlp__KeyValue **list)
{
	for (size_t i = 0; i < count; i++)
		list[i] = &attributes[i].pair;
	return list;
}

static void describe(struct span *from, struct message *to)
{
	Otlp__Span *span = &to->span;
	otlp__span__init(span);
	span->trace_id = (ProtobufCBinaryData){ SPAN_TRACE_ID_BYTES, from->trace_id };
	span->span_id = (ProtobufCBinaryData){ SPAN_ID_BYTES, from->id };
	if (from->has_parent)
		span->parent_span_id = (ProtobufCBinaryData){ SPAN_ID_BYTES, from->parent_id };
	(void)snprintf(to->name, sizeof(to->name), "%s%s%s", from->method,
	               from->route[0] ? " " : "", from->route);
	span->name = to->name;
	span->kind = OTLP__SPAN_KIND__SPAN_KIND_SERVER;
	span->start_time_unix_nano = (uint64_t)from->began_us * NS_PER_US;
	span->end_time_unix_nano = (uint64_t)(from->began_us + from->duration_us) * NS_PER_US;

	size_t count = 0;
	set_text(&to->attributes[count++], "http.request.method", from->method);
	set_number(&to->attributes[count++], "http.response.status_code", from->status);
	if (from->route[0])
		set_text(&to->attributes[count++], "http.route", from->route);
	span->attributes = list_of(to->attributes, count, to->list);
	span->n_attributes = count;

	otlp__status__init(&to->status);
	if (from->status >= SERVER_ERROR)
		to->status.code = OTLP__STATUS_CODE__STATUS_CODE_ERROR;
	span->status = &to->status;
}

static uint8_t *pack(const Otlp__ExportTraceServiceRequest *request, size_t *len)
{
	uint8_t *bytes = mem_zero(otlp__export_trace_service_request__get_packed_size(request));
	*len = otlp__export_trace_service_request__pack(request, bytes);
	return bytes;
}

uint8_t *otlp_encode(const struct otlp_resource *resource, struct span *spans, size_t count,
                     size_t *len)
{
	struct message *messages = mem_array(count, sizeof(*messages));
	Otlp__Span **list = mem_array(count, sizeof(Otlp__Span *));
	for (size_t i = 0; i < count; i++) {
		describe(&spans[i], &messages[i]);
		list[i] = &messages[i].span;
	}

	Otlp__InstrumentationScope scope = OTLP__INSTRUMENTATION_SCOPE__INIT;
	scope.name = (char *)"waymark";
	scope.version = (char *)WAYMARK_VERSION;
	Otlp__ScopeSpans of_scope = OTLP__SCOPE_SPANS__INIT;
	of_scope.scope = &scope;
	of_scope.spans = list;
	of_scope.n_spans = count;
	Otlp__ScopeSpans *of_scopes[] = { &of_scope };

	struct attribute attributes[4];
	Otlp__KeyValue *pairs[ARRAY_SIZE(attributes)];
	set_text(&attributes[0], "service.name", resource->service);
	set_text(&attributes[1], "service.namespace", "waymark");
	set_text(&attributes[2], "service.version", WAYMARK_VERSION);
	set_text(&attributes[3], "service.instance.id", resource->instance);
	Otlp__Resource described = OTLP__RESOURCE__INIT;
	described.attributes = list_of(attributes, ARRAY_SIZE(attributes), pairs);
	described.n_attributes = ARRAY_SIZE(attributes);

	Otlp__ResourceSpans of_resource = OTLP__RESOURCE_SPANS__INIT;
	of_resource.resource = &described;
	of_resource.scope_spans = of_scopes;
	of_resource.n_scope_spans = 1;
	Otlp__ResourceSpans *of_resources[] = { &of_resource };
	Otlp__ExportTraceServiceRequest request = OTLP__EXPORT_TRACE_SERVICE_REQUEST__INIT;
	request.resource_spans = of_resources;
	request.n_resource_spans = 1;
	uint8_t *bytes = pack(&request, len);
	free(messages);
	free(list);
	return bytes;
}

int64_t otlp_rejected(const void *response, size_t len)
{
	const char *problem;
	Otlp__ExportTraceServiceResponse *message = protobuf_unpack(
		&otlp__export_trace_service_response__descriptor, response, len, &problem);
	if (!message)
		return 0;
	int64_t rejected = message->partial_success ? message->partial_success->rejected_spans : 0;
	protobuf_free(message);
	return rejected > 0 ? rejected : 0;
}
