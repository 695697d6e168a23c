#include "lib/http/http_guard.h"

#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/trace_context.h"
#include "lib/base/utf8.h"

#define CONTENT_LENGTH_DIGITS_MAX 18
#define METHOD_LEN_MAX 32

/* The library keeps the pointer, so this header can be distinguished from those of the client. */
static const char no_cookies[] = MHD_HTTP_HEADER_COOKIE;

/* --- character classes --- */

enum { TOKEN = 1, VALUE = 2, TARGET = 4, HOST = 8 };

static const unsigned char classes[256] = {
	['\t'] = VALUE,
	[' '] = VALUE,
	['!'] = TOKEN | VALUE | TARGET | HOST,
	['"'] = VALUE | TARGET,
	['#'] = TOKEN | VALUE | TARGET,
	['$' ... '\''] = TOKEN | VALUE | TARGET | HOST,
	['(' ... ')'] = VALUE | TARGET | HOST,
	['*' ... '+'] = TOKEN | VALUE | TARGET | HOST,
	[','] = VALUE | TARGET,
	['-' ... '.'] = TOKEN | VALUE | TARGET | HOST,
	['/'] = VALUE | TARGET,
	['0' ... '9'] = TOKEN | VALUE | TARGET | HOST,
	[':' ... ';'] = VALUE | TARGET | HOST,
	['<'] = VALUE | TARGET,
	['='] = VALUE | TARGET | HOST,
	['>' ... '@'] = VALUE | TARGET,
	['A' ... 'Z'] = TOKEN | VALUE | TARGET | HOST,
	['['] = VALUE | TARGET | HOST,
	['\\'] = VALUE | TARGET,
	[']'] = VALUE | TARGET | HOST,
	['^' ... '`'] = TOKEN | VALUE | TARGET | HOST,
	['a' ... 'z'] = TOKEN | VALUE | TARGET | HOST,
	['{'] = VALUE | TARGET | HOST,
	['|'] = TOKEN | VALUE | TARGET | HOST,
	['}'] = VALUE | TARGET | HOST,
	['~'] = TOKEN | VALUE | TARGET | HOST,
	[0x80 ... 0xff] = VALUE | TARGET | HOST,
};

static bool all_are(const char *text, size_t len, unsigned char class)
{
	for (size_t i = 0; i < len; i++)
		if (!(classes[(unsigned char)text[i]] & class))
			return false;
	return true;
}

bool http_guard_is_token(const char *text, size_t len)
{
	return len > 0 && all_are(text, len, TOKEN);
}

bool http_guard_is_value(const char *text, size_t len)
{
	size_t printable = utf8_printable_prefix(text, len);
	return all_are(text + printable, len - printable, VALUE);
}

bool http_guard_is_target(const char *text, size_t len)
{
	return all_are(text, len, TARGET);
}

bool http_guard_is_host(const char *text, size_t len)
{
	return all_are(text, len, HOST);
}

/* --- the walk through the head --- */

struct walk {
	/* Of the version or the last value, where the library has put a NUL. */
	const char *end;
	/* NULL: none so far. */
	const char *problem;
	size_t count;
	unsigned hosts, lengths, codings, traces;
	struct http_guard_result result;
};

static bool name_is(const char *name, size_t len, const char *wanted, size_t wanted_len)
{
	return len == wanted_len && strncasecmp(name, wanted, len) == 0;
}

#define NAME_IS(name, len, literal) name_is((name), (len), (literal), sizeof(literal) - 1)

/* White space after a value is no part of it (RFC 9110, 5.5). */
static size_t trimmed_len(const char *value, size_t len)
{
	while (len > 0 && (value[len - 1] == ' ' || value[len - 1] == '\t'))
		len--;
	return len;
}

static const char *read_length(struct walk *walk, const char *value, size_t len)
{
	if (++walk->lengths > 1)
		return "The request has more than one Content-Length.";
	len = trimmed_len(value, len);
	if (len == 0 || len > CONTENT_LENGTH_DIGITS_MAX)
		return "The Content-Length is not a number.";
	uint64_t length = 0;
	for (size_t i = 0; i < len; i++) {
		if (value[i] < '0' || value[i] > '9')
			return "The Content-Length is not a number.";
		length = length * 10 + (uint64_t)(value[i] - '0');
	}
	walk->result.content_length = length;
	return NULL;
}

static const char *read_host(struct walk *walk, const char *value, size_t len)
{
	if (++walk->hosts > 1)
		return "The request has more than one Host.";
	return http_guard_is_host(value, trimmed_len(value, len)) ? NULL : "The Host is malformed.";
}

/* The library compares the whole value, so "chunked " would be an unknown coding to it. */
static const char *read_coding(struct walk *walk, const char *value, size_t len)
{
	walk->codings++;
	walk->result.is_chunked = NAME_IS(value, len, "chunked");
	return walk->result.is_chunked ? NULL
	                               : "The server supports no transfer coding but chunked.";
}

static const char *read_header(struct walk *walk, const char *name, size_t name_len,
                               const char *value, size_t len)
{
	switch (name[0] | 0x20) {
	case 'h':
		return NAME_IS(name, name_len, "host") ? read_host(walk, value, len) : NULL;
	case 'c':
		return NAME_IS(name, name_len, "content-length") ? read_length(walk, value, len)
		                                                 : NULL;
	case 'x':
		if (walk->result.request_id == NULL && NAME_IS(name, name_len, "x-request-id"))
			walk->result.request_id = value;
		return NULL;
	case 't':
		if (NAME_IS(name, name_len, TRACE_CONTEXT_HEADER))
			walk->result.traceparent = ++walk->traces == 1 ? value : NULL;
		return NAME_IS(name, name_len, "transfer-encoding") ? read_coding(walk, value, len)
		                                                    : NULL;
	default:
		return NULL;
	}
}

/* Whether only spaces and tabs lie between the colon at name_end and value. */
static bool is_separated_by_ows(const char *name_end, const char *value)
{
	if (value <= name_end)
		return false;
	for (const char *p = name_end + 1; p < value; p++)
		if (*p != ' ' && *p != '\t')
			return false;
	return true;
}

/*
 * Whether nothing but a CRLF lies between the end of a value and the next line. 0.9 puts NULs over
 * both, and its values keep white space behind them; 1.0 puts one NUL, over the first byte behind.
 */
static bool is_line_end(const char *end, const char *next)
{
	if (next == end + 2)
		return true;
	const char *crlf = next - 2;
	if (crlf <= end || crlf[0] != '\r' || crlf[1] != '\n')
		return false;
	for (const char *p = end + 1; p < crlf; p++)
		if (*p != ' ' && *p != '\t')
			return false;
	return true;
}

/*
 * The same of the head's last line. 1.0 reads on over what it has parsed, but reports each line or
 * rejects the request.
 */
static bool is_last_line_end(const char *end, const char *empty_line)
{
	return MHD_VERSION >= 0x01000000 ? empty_line >= end + 2 : empty_line == end + 2;
}

/* 0.9 keeps the white space after a value. Handlers read values as text. */
static void cut_trailing_space(const char *value, size_t len)
{
	((char *)(uintptr_t)value)[trimmed_len(value, len)] = '\0';
}

static enum MHD_Result check_header(void *arg, enum MHD_ValueKind kind, const char *name,
                                    size_t name_len, const char *value, size_t len)
{
	(void)kind;
	struct walk *walk = arg;
	if (name == no_cookies)
		return MHD_YES;
	if (++walk->count > HTTP_GUARD_HEADERS_MAX)
		return MHD_NO;
	if (!is_line_end(walk->end, name) || !http_guard_is_token(name, name_len))
		walk->problem = "A header's name is malformed.";
	else if (value == NULL || !is_separated_by_ows(name + name_len, value) ||
	         !http_guard_is_value(value, len))
		walk->problem = "A header's value is malformed.";
	else
		walk->problem = read_header(walk, name, name_len, value, len);
	if (walk->problem != NULL)
		return MHD_NO;
	cut_trailing_space(value, len);
	walk->end = value + len;
	return MHD_YES;
}

static bool request_line_is_plain(const struct http_guard_head *head)
{
	size_t method_len = strnlen(head->method, METHOD_LEN_MAX + 1);
	if (method_len > METHOD_LEN_MAX || !http_guard_is_token(head->method, method_len))
		return false;
	if (head->target != head->method + method_len + 1 ||
	    head->version != head->target + head->target_len + 1)
		return false;
	if (!http_guard_is_target(head->target, strlen(head->target)) ||
	    !http_guard_is_target(head->query, strlen(head->query)))
		return false;
	return strcmp(head->version, "HTTP/1.1") == 0 || strcmp(head->version, "HTTP/1.0") == 0;
}

static const char *find_framing_problem(const struct walk *walk, const struct http_guard_head *head)
{
	bool is_1_0 = head->version[7] == '0';
	if (!is_last_line_end(walk->end, head->method + head->head_len - 2))
		return "The request's head is malformed.";
	if (walk->codings > 1)
		return "The request has more than one Transfer-Encoding.";
	if (walk->codings > 0 && walk->lengths > 0)
		return "The request has a Content-Length and a Transfer-Encoding.";
	if (walk->codings > 0 && is_1_0)
		return "HTTP/1.0 has no Transfer-Encoding.";
	if (walk->hosts == 0 && !is_1_0)
		return "The request has no Host.";
	return NULL;
}

static struct http_guard_result reject(unsigned status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static struct http_guard_result reject(unsigned status, const char *format, ...)
{
	struct http_guard_result result = { .status = status };
	va_list args;
	va_start(args, format);
	vsnprintf(result.detail, sizeof(result.detail), format, args);
	va_end(args);
	return result;
}

void http_guard_skip_parsing(void *mhd, const char *target, size_t len)
{
	const char *mark = memchr(target, '?', len);
	if (mark != NULL)
		((char *)(uintptr_t)mark)[1] = '\0';
	/*
	 * Behind the last header 1.0 reads more input over what it has parsed. Without headers the
	 * last one is this, so its value is the end of the request line. Without memory for the
	 * record the library rejects the request itself.
	 */
	const char *version = target + len + 1;
	if (strncmp(version, "HTTP/1.", 7) == 0)
		(void)MHD_set_connection_value(mhd, MHD_HEADER_KIND, no_cookies, version);
}

struct http_guard_result http_guard_check(void *mhd, const struct http_guard_head *head)
{
	if (head->head_len > head->head_bytes_max)
		return reject(MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE,
		              "The request's headers are too large. With the request line they "
		              "may have at most %zu bytes.",
		              head->head_bytes_max);
	if (!request_line_is_plain(head))
		return reject(MHD_HTTP_BAD_REQUEST, "The request line is malformed.");

	struct walk walk = { .end = head->version + strlen(head->version) };
	MHD_get_connection_values_n(mhd, MHD_HEADER_KIND, check_header, &walk);
	if (walk.count > HTTP_GUARD_HEADERS_MAX)
		return reject(MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE,
		              "The request has more than %d headers.", HTTP_GUARD_HEADERS_MAX);
	if (walk.problem == NULL)
		walk.problem = find_framing_problem(&walk, head);
	if (walk.problem != NULL)
		return reject(MHD_HTTP_BAD_REQUEST, "%s", walk.problem);
	return walk.result;
}
