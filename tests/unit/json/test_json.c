#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/json/json.h"
#include "tests/support/test.h"

/* From jansson.h, whose other names collide with ours. */
extern void json_set_alloc_funcs(void *(*allocate)(size_t), void (*release)(void *));

static enum err parse(const char *text, size_t len, struct json **out)
{
	char reason[JSON_REASON_SIZE] = "";
	enum err err = json_parse(text, len, out, reason);
	if (err != OK)
		assert_true(reason[0] != '\0');
	return err;
}

static void check_written(const struct json *value, const char *expected)
{
	struct strbuf text;
	strbuf_init(&text, 65536);
	json_write(value, &text);
	assert_string_equal(text.data, expected);
	strbuf_clear(&text);
}

/* --- memory: an allocator that counts what jansson holds --- */

#define SIZE_BYTES 16

static size_t held_bytes, most_bytes;

static void *count_allocation(size_t size)
{
	char *block = malloc(SIZE_BYTES + size);
	assert_non_null(block);
	memcpy(block, &size, sizeof(size));
	/* A block of the C library has a header of 8 bytes, and 32 bytes at least. */
	held_bytes += size + 8 < 32 ? 32 : size + 8;
	if (held_bytes > most_bytes)
		most_bytes = held_bytes;
	return block + SIZE_BYTES;
}

static void count_release(void *block)
{
	size_t size;
	if (block == NULL)
		return;
	memcpy(&size, (char *)block - SIZE_BYTES, sizeof(size));
	held_bytes -= size + 8 < 32 ? 32 : size + 8;
	free((char *)block - SIZE_BYTES);
}

/* Adds part; "#" becomes the number. */
static void add_part(struct strbuf *text, const char *part, size_t number)
{
	size_t len = strcspn(part, "#");
	strbuf_add(text, part, len);
	if (part[len] != '\0')
		strbuf_add_format(text, "%zu%s", number, part + len + 1);
}

/* A text of parts, count times, between begin and end. The caller frees it. */
static char *repeat(const char *begin, const char *part, size_t count, const char *end, size_t *len)
{
	struct strbuf text;
	strbuf_init(&text, 16 << 20);
	strbuf_add_text(&text, begin);
	for (size_t i = 0; i < count; i++)
		add_part(&text, part, i);
	text.data[text.len - 1] = ' '; /* the last comma */
	strbuf_add_text(&text, end);
	char *copy = mem_text_n(text.data, text.len);
	*len = text.len;
	strbuf_clear(&text);
	return copy;
}

#define DEEP "{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{}}}}}}}}},"

TEST_CASE(bounds_the_memory_of_a_document)
{
	static const struct {
		const char *begin, *part, *end;
		/* Values that a part counts as. */
		size_t each;
	} worst[] = {
		{ "{\"links\":[", "{},", "]}", 2 },
		{ "{\"links\":[", "[],", "]}", 2 },
		{ "{\"links\":[", "1,", "]}", 1 },
		{ "{\"links\":[", "\"text of a title\",", "]}", 1 },
		{ "{\"links\":[", DEEP, "]}", 10 },
		{ "{\"links\":{", "\"a#\":{},", "}}", 2 },
		{ "{\"links\":{", "\"a#\":\"x\",", "}}", 1 },
	};
	json_set_alloc_funcs(count_allocation, count_release);
	for (size_t i = 0; i < sizeof(worst) / sizeof(worst[0]); i++) {
		for (int is_more = 0; is_more < 2; is_more++) {
			struct json *value = NULL;
			char reason[JSON_REASON_SIZE];
			size_t len, count = JSON_VALUES_MAX / worst[i].each - 8;
			char *text = repeat(worst[i].begin, worst[i].part,
			                    (size_t)(is_more ? 20 : 1) * count, worst[i].end, &len);
			held_bytes = most_bytes = 0;
			assert_int_equal(json_parse(text, len, &value, reason),
			                 is_more ? ERR_INVALID : OK);
			if (is_more)
				assert_string_equal(reason, "more than 32768 values");
			assert_in_range(most_bytes, 0, is_more ? 0 : JSON_TREE_BYTES_MAX + 3 * len);
			json_free(value);
			assert_int_equal(held_bytes, 0);
			free(text);
		}
	}
	json_set_alloc_funcs(malloc, free);
}

TEST_CASE(rejects_what_is_not_strict_json)
{
#define CASE(text)                                                                                 \
	{                                                                                          \
		(text), sizeof(text) - 1                                                           \
	}
	static const struct {
		const char *text;
		size_t len;
	} cases[] = {
		CASE(""),
		CASE(" "),
		CASE("{\"a\":302\0}"),
		CASE("{\"a\":true\0}"),
		CASE("{\"a\":1}\0"),
		CASE("1\0"),
		CASE("\0{}"),
		CASE("{"),
		CASE("{}{}"),
		CASE("{} x"),
		CASE("[1,]"),
		CASE("{\"a\":1,}"),
		CASE("{\"a\":1,\"a\":2}"),
		CASE("{a:1}"),
		CASE("{'a':1}"),
		CASE("[NaN]"),
		CASE("[Infinity]"),
		CASE("[01]"),
		CASE("[+1]"),
		CASE("[.5]"),
		CASE("[1.]"),
		CASE("[0x10]"),
		CASE("[1e400]"),
		CASE("[9223372036854775808]"),
		CASE("[\"\xff\"]"),
		CASE("[\"\xc0\x80\"]"),
		CASE("[\"\xed\xa0\x80\"]"),
		CASE("[\"\\ud800\"]"),
		CASE("[\"\\u0000\"]"),
		CASE("[\"a\0b\"]"),
		CASE("{\"a\\u0000\":1}"),
		CASE("[\"\t\"]"),
		CASE("[\"\\x\"]"),
		CASE("[true false]"),
		CASE("[tru]"),
		CASE("// comment\n[]"),
		CASE("\xef\xbb\xbf[]"),
		CASE("[]\0"),
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct json *value = NULL;
		if (parse(cases[i].text, cases[i].len, &value) != ERR_INVALID)
			fail_msg("accepted %s", cases[i].text);
		assert_null(value);
	}
}

TEST_CASE(names_the_error_and_its_place)
{
	struct json *value = NULL;
	char reason[JSON_REASON_SIZE];
	assert_int_equal(json_parse("{\"a\":1,\n\"a\":2}", 14, &value, reason), ERR_INVALID);
	assert_string_equal(reason, "line 2 column 3: duplicate object key");
	assert_int_equal(json_parse("[\"<script>\" x]", 14, &value, reason), ERR_INVALID);
	assert_null(strstr(reason, "script"));
}

TEST_CASE(explains_errors_without_the_words_of_the_library)
{
	static const struct {
		const char *text, *reason;
	} cases[] = {
		{ "[\"\\u0000\"]", "line 1 column 9: a text contains the character U+0000" },
		{ "{\"a\\u0000\":1}",
		  "line 1 column 10: the name of a member contains the character U+0000" },
		{ "[\"\xff\"]", "line 1 column 2: a byte is not valid UTF-8" },
		{ "[1", "line 1 column 2: the text ends too early" },
		{ "{} {}", "line 1 column 4: the text goes on after the value" },
		{ "[1e400]", "line 1 column 6: a number is too large" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct json *value = NULL;
		char reason[JSON_REASON_SIZE];
		assert_int_equal(json_parse(cases[i].text, strlen(cases[i].text), &value, reason),
		                 ERR_INVALID);
		assert_string_equal(reason, cases[i].reason);
	}
}

TEST_CASE(rejects_only_deep_nesting)
{
	char text[4096];
	struct json *value = NULL;
	for (size_t depth = 1; depth <= 2000; depth = depth < 40 ? depth + 1 : depth * 7) {
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		enum err expected = depth <= JSON_DEPTH_MAX ? OK : ERR_INVALID;
		assert_int_equal(parse(text, 2 * depth, &value), expected);
		if (expected == OK)
			json_free(value);
	}
	/* brackets in strings do not nest */
	memset(text, '[', 1000);
	text[1] = text[3] = text[1000] = '"';
	text[2] = '\\';
	text[1001] = ']';
	assert_int_equal(parse(text, 1002, &value), OK);
	json_free(value);
}

TEST_CASE(reads_every_type)
{
	static const char text[] =
		"{\"t\":\"\\u00e4\\n\",\"i\":-9223372036854775808,\"r\":1.5,\"b\":true,\"n\":null,"
		"\"a\":[1,\"x\",false],\"o\":{}}";
	struct json *o = NULL;
	assert_int_equal(parse(text, sizeof(text) - 1, &o), OK);
	assert_int_equal(json_type(o), JSON_OBJECT);
	assert_int_equal(json_count(o), 7);
	size_t len = 0;
	assert_int_equal(json_type(json_get(o, "t")), JSON_TEXT);
	assert_string_equal(json_text(json_get(o, "t"), &len), "\303\244\n");
	assert_int_equal(len, 3);
	assert_int_equal(json_type(json_get(o, "i")), JSON_INT);
	assert_true(json_int(json_get(o, "i")) == INT64_MIN);
	assert_int_equal(json_type(json_get(o, "r")), JSON_REAL);
	assert_int_equal(json_type(json_get(o, "b")), JSON_BOOL);
	assert_true(json_bool(json_get(o, "b")));
	assert_int_equal(json_type(json_get(o, "n")), JSON_NULL);
	struct json *a = json_get(o, "a");
	assert_int_equal(json_type(a), JSON_ARRAY);
	assert_int_equal(json_count(a), 3);
	assert_int_equal(json_int(json_at(a, 0)), 1);
	assert_false(json_bool(json_at(a, 2)));
	assert_null(json_at(a, 3));
	assert_null(json_get(o, "missing"));
	json_free(o);
}

TEST_CASE(reads_any_number_without_a_fraction_as_an_integer)
{
	static const char text[] =
		"[920.0, 1e3, -0.0, 9007199254740992.0, 9007199254740994.0, 1e300, 0.5]";
	struct json *a = NULL;
	assert_int_equal(parse(text, sizeof(text) - 1, &a), OK);
	const int64_t whole[] = { 920, 1000, 0, INT64_C(9007199254740992) };
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(json_type(json_at(a, i)), JSON_INT);
		assert_true(json_int(json_at(a, i)) == whole[i]);
	}
	for (size_t i = 4; i < 7; i++)
		assert_int_equal(json_type(json_at(a, i)), JSON_REAL);
	json_free(a);
}

TEST_CASE(iterates_over_members_in_order)
{
	struct json *o = NULL;
	assert_int_equal(parse("{\"c\":1,\"a\":2,\"b\":3}", 19, &o), OK);
	char names[8] = "";
	int64_t sum = 0;
	const char *name;
	struct json *value;
	for (size_t cursor = json_next(o, 0, &name, &value); cursor != 0;
	     cursor = json_next(o, cursor, &name, &value)) {
		names[strlen(names)] = name[0];
		sum = sum * 10 + json_int(value);
	}
	assert_string_equal(names, "cab");
	assert_int_equal(sum, 123);
	json_free(o);
	o = json_new_object();
	assert_int_equal(json_next(o, 0, &name, &value), 0);
	json_free(o);
}

TEST_CASE(writes_what_was_built)
{
	struct json *o = json_new_object();
	json_set_text(o, "text", "\"\\/\n\303\244<");
	json_set_text(o, "absent", NULL);
	json_set_int(o, "int", INT64_MAX);
	json_set_real(o, "real", 0.1);
	json_set_real(o, "nan", NAN);
	json_set_bool(o, "bool", false);
	json_set_null(o, "null");
	json_set_time(o, "time", INT64_C(1795161600123456));
	json_set_time(o, "never", 0);
	struct json *a = json_new_array();
	json_append_text(a, "x");
	json_append(a, json_new_object());
	json_set(o, "array", a);
	check_written(
		o,
		"{\"text\":\"\\\"\\\\/\\n\303\244<\",\"absent\":null,\"int\":9223372036854775807,\"real\":0.1,"
		"\"nan\":null,\"bool\":false,\"null\":null,\"time\":\"2026-11-20T08:00:00.123Z\",\"never\":null,"
		"\"array\":[\"x\",{}]}");
	json_free(o);
}

TEST_CASE(cleans_texts_that_are_not_utf8)
{
	struct json *a = json_new_array();
	json_append_text(a, "a\xff"
	                    "b");
	check_written(a, "[\"a?b\"]");
	json_free(a);
}

TEST_CASE(replaces_a_member_that_is_set_twice)
{
	struct json *o = json_new_object();
	json_set_int(o, "a", 1);
	json_set_int(o, "a", 2);
	check_written(o, "{\"a\":2}");
	json_free(o);
}

TEST_CASE(writes_the_largest_number_so_that_it_can_be_read_again)
{
	(void)state;
	static const char text[] = "[1.7976931348623157e308]";
	struct json *value = NULL;
	struct json *again = NULL;
	struct strbuf out;
	strbuf_init(&out, 100);
	assert_int_equal(parse(text, strlen(text), &value), OK);
	json_write_exact(value, &out);
	assert_int_equal(parse(out.data, out.len, &again), OK);
	json_free(value);
	json_free(again);
	strbuf_clear(&out);
}

TEST_MAIN()
