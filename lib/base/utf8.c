#include "lib/base/utf8.h"

#include <stdint.h>
#include <string.h>

#include "lib/base/array.h"

/*
 * The well-formed sequences of RFC 3629, section 4, by first byte. The bounds of the second byte
 * rule out overlong forms, surrogates and everything above U+10FFFF.
 */
struct sequence {
	uint8_t first_low, first_high;
	uint8_t second_low, second_high;
	uint8_t len;
};

static const struct sequence sequences[] = {
	{ 0x01, 0x7f, 0x00, 0x00, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
	{ 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
	{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

static const struct sequence *sequence_of(uint8_t first)
{
	for (size_t i = 0; i < ARRAY_SIZE(sequences); i++)
		if (first >= sequences[i].first_low && first <= sequences[i].first_high)
			return &sequences[i];
	return NULL;
}

static bool is_continuation(uint8_t byte)
{
	return (byte & 0xc0) == 0x80;
}

size_t utf8_next(const char *text, size_t len)
{
	const uint8_t *bytes = (const uint8_t *)text;
	if (len == 0)
		return 0;
	if (bytes[0] > 0 && bytes[0] < 0x80)
		return 1;
	const struct sequence *sequence = sequence_of(bytes[0]);
	if (!sequence || sequence->len > len)
		return 0;
	if (sequence->len > 1 &&
	    (bytes[1] < sequence->second_low || bytes[1] > sequence->second_high))
		return 0;
	for (size_t i = 2; i < sequence->len; i++)
		if (!is_continuation(bytes[i]))
			return 0;
	return sequence->len;
}

bool utf8_is_control(const char *text)
{
	const uint8_t *bytes = (const uint8_t *)text;
	return bytes[0] < 0x20 || bytes[0] == 0x7f || (bytes[0] == 0xc2 && bytes[1] < 0xa0);
}

/* True if eight bytes are ASCII without NUL. */
static bool is_ascii_word(const char *text)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t word;
	memcpy(&word, text, sizeof(word));
	/* The high bit of a byte is set in word if it is not ASCII, in word - ones if it is NUL. */
	return ((word | (word - ones)) & (ones << 7)) == 0;
}

/*
 * The length of a prefix that is ASCII without NUL. It checks eight bytes at a time, which covers
 * nearly all text in practice. The last word overlaps the one before it.
 */
static size_t ascii_prefix(const char *text, size_t len)
{
	const size_t step = sizeof(uint64_t);
	size_t at = 0;
	while (at + step <= len && is_ascii_word(text + at))
		at += step;
	bool is_last = at + step > len && len >= step;
	return is_last && is_ascii_word(text + len - step) ? len : at;
}

bool utf8_is_valid(const char *text, size_t len)
{
	size_t at = ascii_prefix(text, len);
	while (at < len) {
		bool is_ascii = (unsigned char)(text[at] - 1) < 0x7f;
		size_t step = is_ascii ? 1 : utf8_next(text + at, len - at);
		if (step == 0)
			return false;
		at += step;
	}
	return true;
}

size_t utf8_length(const char *text, size_t len)
{
	size_t characters = 0;
	for (size_t i = 0; i < len; i++)
		if (!is_continuation((uint8_t)text[i]))
			characters++;
	return characters;
}

size_t utf8_prefix(const char *text, size_t len, size_t max)
{
	if (len <= max)
		return len;
	while (max > 0 && is_continuation((uint8_t)text[max]))
		max--;
	return max;
}

/* True if eight bytes are from ' ' to '~'. */
static bool is_printable_word(const char *text)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t word;
	memcpy(&word, text, sizeof(word));
	/* Unless a byte is above 0x7f, no sum carries into the next one. */
	uint64_t is_above = word + ones, is_not_below = word + ones * (0x80 - ' ');
	return ((word | is_above | ~is_not_below) & (ones << 7)) == 0;
}

size_t utf8_printable_prefix(const char *text, size_t len)
{
	size_t printable = 0;
	while (printable + sizeof(uint64_t) <= len && is_printable_word(text + printable))
		printable += sizeof(uint64_t);
	bool is_last = printable + sizeof(uint64_t) > len && len >= sizeof(uint64_t);
	if (is_last && is_printable_word(text + len - sizeof(uint64_t)))
		return len;
	while (printable < len && text[printable] >= ' ' && text[printable] < 0x7f)
		printable++;
	return printable;
}

size_t utf8_copy_clean(const char *text, size_t len, char *out, size_t size)
{
	size_t done = utf8_printable_prefix(text, len < size - 1 ? len : size - 1);
	size_t at = done;
	memcpy(out, text, done);
	while (at < len) {
		size_t step = utf8_next(text + at, len - at);
		bool is_clean = step > 0 && !utf8_is_control(text + at);
		size_t add = is_clean ? step : 1;
		if (add > size - 1 - done)
			break;
		if (is_clean)
			memcpy(out + done, text + at, step);
		else
			out[done] = '?';
		done += add;
		at += step > 0 ? step : 1;
	}
	out[done] = '\0';
	return done;
}
