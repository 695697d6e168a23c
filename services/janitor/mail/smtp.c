#include "services/janitor/mail/smtp.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <curl/curl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/base/url.h"
#include "lib/base/utf8.h"

#define CONNECT_TIMEOUT_MS 10000
#define HEADER_BYTES_MAX 8192
/* Of an encoded word, whose characters may take 12 bytes each. */
#define WORD_BYTES_MAX 63
/* Of a header's name, which is on the line of the first word. */
#define NAME_BYTES_MAX 9

/* --- SMTP_URL --- */

static bool decode(const char *text, size_t len, char *out, size_t size)
{
	size_t written = 0;
	for (size_t at = 0; at < len;) {
		int c = url_decode_next(text, len, &at);
		if (c < ' ' || c == 0x7f || written + 1 >= size)
			return false;
		out[written++] = (char)c;
	}
	out[written] = '\0';
	return true;
}

static bool is_this_machine(struct url_part host)
{
	char text[INET_ADDRSTRLEN] = "";
	struct in_addr address;
	if (host.len < sizeof(text))
		memcpy(text, host.text, host.len);
	return url_part_is(host, "localhost") || url_part_is(host, "[::1]") ||
	       (inet_pton(AF_INET, text, &address) == 1 && strncmp(text, "127.", 4) == 0);
}

static bool is_host(struct url_part host)
{
	bool is_ipv6 = host.len > 2 && host.text[0] == '[';
	for (size_t i = 0; i < host.len; i++) {
		unsigned char c = (unsigned char)host.text[i];
		if (!isalnum(c) && !strchr(is_ipv6 ? "[]:." : "-_.", c))
			return false;
	}
	return host.len > 0 && host.len < 256;
}

static bool read_user(struct url_part user, struct smtp_server *out)
{
	if (!user.text)
		return true;
	const char *colon = memchr(user.text, ':', user.len);
	if (!colon || colon == user.text || colon + 1 == user.text + user.len)
		return false;
	size_t len = (size_t)(colon - user.text);
	return decode(user.text, len, out->user, sizeof(out->user)) &&
	       decode(colon + 1, user.len - len - 1, out->password, sizeof(out->password));
}

static bool read_ca_file(struct url_part query, struct smtp_server *out)
{
	static const char name[] = "ca_file=/";
	const size_t skipped = sizeof(name) - 2;
	if (!query.text)
		return true;
	return query.len > skipped && strncmp(query.text, name, sizeof(name) - 1) == 0 &&
	       !memchr(query.text, '&', query.len) &&
	       decode(query.text + skipped, query.len - skipped, out->ca_file,
	              sizeof(out->ca_file));
}

enum err smtp_server_parse(const char *text, struct smtp_server *out, const char **reason)
{
	static const struct {
		const char *scheme, *of_curl;
		uint16_t port;
	} schemes[] = {
		{ "smtp", "smtp", 25 },
		{ "smtp+starttls", "smtp", 587 },
		{ "smtps", "smtps", 465 },
	};
	struct smtp_server server = { 0 };
	struct url url;
	size_t s = 0;
	uint16_t port;
	*reason = "must be smtp+starttls://user:password@host:port or smtps://…, "
		  "and the user and the password percent-encoded (@ as %40, / as %2F)";
	if (url_split(text, strlen(text), &url) != OK || !is_host(url.host) || url.fragment.text ||
	    !(url.path.len == 0 || url_part_is(url.path, "/")) || !read_user(url.user, &server))
		return ERR_INVALID;
	while (s < ARRAY_SIZE(schemes) && !url_part_is(url.scheme, schemes[s].scheme))
		s++;
	if (s == ARRAY_SIZE(schemes))
		return ERR_INVALID;
	server.is_encrypted = s > 0;
	port = schemes[s].port;
	if (url.port.text && url_port(url.port, &port) != OK) {
		*reason = "the port must be a number from 1 to 65535";
		return ERR_INVALID;
	}
	if (!server.is_encrypted && !is_this_machine(url.host)) {
		*reason = "smtp:// is not encrypted and reaches this machine only (127.0.0.1): "
			  "use smtp+starttls:// or smtps://";
		return ERR_INVALID;
	}
	if (!read_ca_file(url.query, &server)) {
		*reason = "only ?ca_file=/path may follow the host";
		return ERR_INVALID;
	}
	snprintf(server.url, sizeof(server.url), "%s://%.*s:%u", schemes[s].of_curl,
	         (int)url.host.len, url.host.text, (unsigned)port);
	*out = server;
	return OK;
}

/* --- headers --- */

static bool is_plain(const char *text)
{
	size_t len = strlen(text);
	return len < WORD_BYTES_MAX && utf8_printable_prefix(text, len) == len &&
	       !strpbrk(text, "=?<>@,;:\"()[]\\") && text[0] != ' ';
}

void smtp_encode_header(const char *text, struct strbuf *out)
{
	size_t len = strlen(text), word = WORD_BYTES_MAX + 1;
	if (is_plain(text)) {
		strbuf_add_text(out, text);
		return;
	}
	for (size_t i = 0; i < len;) {
		char encoded[16];
		size_t bytes = utf8_next(text + i, len - i), size = 0;
		for (size_t end = i + (bytes > 0 ? bytes : 1); i < end; i++) {
			unsigned char c = (unsigned char)text[i];
			if (isalnum(c))
				encoded[size++] = (char)c;
			else
				size += (size_t)snprintf(encoded + size, sizeof(encoded) - size,
				                         c == ' ' ? "_" : "=%02X", c);
		}
		if (word + size > WORD_BYTES_MAX) {
			bool is_first = word > WORD_BYTES_MAX;
			strbuf_add_text(out, is_first ? "=?UTF-8?Q?" : "?=\r\n =?UTF-8?Q?");
			word = is_first ? NAME_BYTES_MAX : 0;
		}
		strbuf_add(out, encoded, size);
		word += size;
	}
	strbuf_add_text(out, "?=");
}

static struct curl_slist *add_header(struct curl_slist *list, struct strbuf *line)
{
	struct curl_slist *longer = curl_slist_append(list, line->data);
	if (!longer)
		abort();
	strbuf_reset(line);
	return longer;
}

static struct curl_slist *headers_of(const struct smtp_mail *mail)
{
	char date[64];
	struct strbuf line;
	struct tm utc;
	const time_t now = (time_t)(mail->now_us / CLOCK_US_PER_S);
	gmtime_r(&now, &utc);
	strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S +0000", &utc);
	strbuf_init(&line, HEADER_BYTES_MAX);

	strbuf_add_text(&line, "From: ");
	smtp_encode_header(mail->from_name, &line);
	strbuf_add_format(&line, "%s<%s>", mail->from_name[0] ? " " : "", mail->from);
	struct curl_slist *list = add_header(NULL, &line);
	strbuf_add_format(&line, "To: <%s>", mail->to);
	list = add_header(list, &line);
	strbuf_add_text(&line, "Subject: ");
	smtp_encode_header(mail->subject, &line);
	list = add_header(list, &line);
	strbuf_add_format(&line, "Date: %s", date);
	list = add_header(list, &line);
	strbuf_add_format(&line, "Message-ID: <waymark.%" PRId64 ".%" PRId64 "%s>", mail->id,
	                  mail->created_at_us, strchr(mail->from, '@'));
	list = add_header(list, &line);
	strbuf_add_text(&line, "Auto-Submitted: auto-generated");
	list = add_header(list, &line);
	strbuf_add_text(&line, "Content-Type: multipart/alternative");
	list = add_header(list, &line);
	strbuf_clear(&line);
	return list;
}

/* --- one mail --- */

struct smtp_session {
	const struct smtp_server *server;
	CURL *curl;
	/* The last command whose outcome concerns a mail; "" before MAIL. */
	char command[5];
	/* The last line of the server's refusal; "": it has not refused the last command. */
	char reply[SMTP_REASON_SIZE];
	char error[CURL_ERROR_SIZE];
};

/* Sees passwords pass by, and keeps none. */
static int on_line(CURL *curl, curl_infotype type, char *bytes, size_t len, void *arg)
{
	static const char *const commands[] = { "MAIL", "RCPT", "DATA" };
	struct smtp_session *s = arg;
	(void)curl;
	if (type == CURLINFO_HEADER_OUT && !(len >= 4 && memcmp(bytes, "QUIT", 4) == 0))
		s->reply[0] = '\0';
	for (size_t i = 0; type == CURLINFO_HEADER_OUT && i < ARRAY_SIZE(commands); i++)
		if (len >= 4 && memcmp(bytes, commands[i], 4) == 0)
			memcpy(s->command, commands[i], sizeof(s->command));
	while (len > 0 && (bytes[len - 1] == '\n' || bytes[len - 1] == '\r'))
		len--;
	if (type == CURLINFO_HEADER_IN && len > 0 && (*bytes == '4' || *bytes == '5'))
		utf8_copy_clean(bytes, len, s->reply, sizeof(s->reply));
	return 0;
}

struct smtp_session *smtp_session_new(const struct smtp_server *server)
{
	struct smtp_session *s = mem_zero(sizeof(*s));
	s->server = server;
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !(s->curl = curl_easy_init()))
		abort();
	curl_easy_setopt(s->curl, CURLOPT_URL, server->url);
	curl_easy_setopt(s->curl, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
	curl_easy_setopt(s->curl, CURLOPT_PROXY, "");
	curl_easy_setopt(s->curl, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(s->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(s->curl, CURLOPT_TIMEOUT_MS, (long)SMTP_TIMEOUT_MS);
	curl_easy_setopt(s->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
	curl_easy_setopt(s->curl, CURLOPT_USE_SSL,
	                 server->is_encrypted ? (long)CURLUSESSL_ALL : (long)CURLUSESSL_NONE);
	if (server->ca_file[0])
		curl_easy_setopt(s->curl, CURLOPT_CAINFO, server->ca_file);
	if (server->user[0]) {
		curl_easy_setopt(s->curl, CURLOPT_USERNAME, server->user);
		curl_easy_setopt(s->curl, CURLOPT_PASSWORD, server->password);
	}
	curl_easy_setopt(s->curl, CURLOPT_ERRORBUFFER, s->error);
	curl_easy_setopt(s->curl, CURLOPT_DEBUGFUNCTION, on_line);
	curl_easy_setopt(s->curl, CURLOPT_DEBUGDATA, s);
	curl_easy_setopt(s->curl, CURLOPT_VERBOSE, 1L);
	return s;
}

void smtp_session_free(struct smtp_session *session)
{
	if (!session)
		return;
	curl_easy_cleanup(session->curl);
	curl_global_cleanup();
	free(session);
}

static void add_part(curl_mime *mime, const char *content, const char *type)
{
	curl_mimepart *part = curl_mime_addpart(mime);
	if (!part || curl_mime_data(part, content, CURL_ZERO_TERMINATED) != CURLE_OK ||
	    curl_mime_type(part, type) != CURLE_OK ||
	    curl_mime_encoder(part, "quoted-printable") != CURLE_OK)
		abort();
}

static enum smtp_outcome outcome_of(const struct smtp_session *s, CURLcode code)
{
	long reply = 0;
	if (code == CURLE_OK)
		return SMTP_SENT;
	curl_easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, &reply);
	bool is_of_login = reply == 530 || reply == 535 || reply == 538;
	if (strcmp(s->command, "DATA") == 0 && reply == 354)
		return SMTP_UNKNOWN;
	if (s->command[0] == '\0' || strcmp(s->command, "MAIL") == 0 || reply == 421 ||
	    is_of_login || reply < 400)
		return SMTP_UNAVAILABLE;
	return reply < 500 ? SMTP_DEFERRED : SMTP_REFUSED;
}

/* Replies often repeat the address, which must not reach a log. */
static void write_reason(const struct smtp_session *s, CURLcode code, const char *to,
                         char reason[static SMTP_REASON_SIZE])
{
	static const char shown[] = "…";
	char text[2 * SMTP_REASON_SIZE + CURL_ERROR_SIZE];
	/* libcurl says "after 12 ms", but a line that repeats must be the same. */
	const char *after = strstr(s->error, " after ");
	if (s->reply[0])
		snprintf(text, sizeof(text), "%s%s%s", s->command, s->command[0] ? ": " : "",
		         s->reply);
	else
		snprintf(text, sizeof(text), "%.*s",
		         (int)(after ? after - s->error : (ptrdiff_t)strlen(s->error)), s->error);
	if (!text[0])
		snprintf(text, sizeof(text), "%s", curl_easy_strerror(code));
	utf8_copy_clean(text, strlen(text), reason, SMTP_REASON_SIZE);
	for (char *at = reason; (at = strcasestr(at, to)); at += sizeof(shown) - 1) {
		memmove(at + sizeof(shown) - 1, at + strlen(to), strlen(at + strlen(to)) + 1);
		memcpy(at, shown, sizeof(shown) - 1);
	}
}

enum smtp_outcome smtp_send(struct smtp_session *session, const struct smtp_mail *mail,
                            char reason[static SMTP_REASON_SIZE])
{
	CURL *curl = session->curl;
	char sender[MAIL_ADDRESS_SIZE + 2], url[sizeof(session->server->url) + MAIL_ADDRESS_SIZE];
	struct curl_slist *headers = headers_of(mail);
	struct curl_slist *to = curl_slist_append(NULL, mail->to);
	curl_mime *mime = curl_mime_init(curl);
	if (!to || !mime)
		abort();
	add_part(mime, mail->text, "text/plain; charset=utf-8");
	add_part(mime, mail->html, "text/html; charset=utf-8");
	snprintf(sender, sizeof(sender), "<%s>", mail->from);
	/* What EHLO says is the path of the URL. */
	snprintf(url, sizeof(url), "%s/%s", session->server->url, strchr(mail->from, '@') + 1);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_MAIL_FROM, sender);
	curl_easy_setopt(curl, CURLOPT_MAIL_RCPT, to);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_MIMEPOST, mime);
	session->command[0] = session->reply[0] = session->error[0] = reason[0] = '\0';
	CURLcode code = curl_easy_perform(curl);
	enum smtp_outcome outcome = outcome_of(session, code);
	if (outcome != SMTP_SENT)
		write_reason(session, code, mail->to, reason);
	curl_easy_setopt(curl, CURLOPT_MIMEPOST, NULL);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, NULL);
	curl_easy_setopt(curl, CURLOPT_MAIL_RCPT, NULL);
	curl_mime_free(mime);
	curl_slist_free_all(to);
	curl_slist_free_all(headers);
	return outcome;
}
