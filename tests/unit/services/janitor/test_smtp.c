#include "services/janitor/mail/smtp.h"

#include <string.h>

#include "lib/base/array.h"
#include "services/janitor/mail/mail.h"
#include "tests/support/test.h"

static struct smtp_server server;
static const char *reason;

static const char *url_of(const char *text)
{
	return smtp_server_parse(text, &server, &reason) == OK ? server.url : reason;
}

TEST_CASE(reads_each_form_of_a_server)
{
	assert_string_equal(url_of("smtp+starttls://ann:pass@mail.example"),
	                    "smtp://mail.example:587");
	assert_true(server.is_encrypted);
	assert_string_equal(url_of("smtps://mail.example/"), "smtps://mail.example:465");
	assert_string_equal(server.user, "");
	assert_string_equal(url_of("SMTP://127.0.0.1"), "smtp://127.0.0.1:25");
	assert_false(server.is_encrypted);
	assert_string_equal(url_of("smtp://[::1]:2525"), "smtp://[::1]:2525");
	assert_string_equal(url_of("smtp://localhost:1"), "smtp://localhost:1");
}

TEST_CASE(decodes_the_login_and_the_file_of_the_authority)
{
	url_of("smtps://ann%40b.example:p%2F%3A%25w@h?ca_file=/etc/a%20b.pem");
	assert_string_equal(server.user, "ann@b.example");
	assert_string_equal(server.password, "p/:%w");
	assert_string_equal(server.ca_file, "/etc/a b.pem");
}

TEST_CASE(refuses_a_server_outside_this_machine_without_encryption)
{
	static const char *const far[] = { "smtp://mail.example", "smtp://10.0.0.1",
		                           "smtp://127.evil.example", "smtp://127.0.0.1.example",
		                           "smtp://[::2]" };
	for (size_t i = 0; i < ARRAY_SIZE(far); i++)
		assert_non_null(strstr(url_of(far[i]), "is not encrypted"));
}

TEST_CASE(refuses_what_is_no_server_and_never_repeats_the_password)
{
	static const char *const wrong[] = {
		"mail.example",
		"http://mail.example",
		"smtp+tls://mail.example",
		"smtps://",
		"smtps://ann@mail.example",
		"smtps://ann:@mail.example",
		"smtps://:sesame@mail.example",
		"smtps://ann:sesame/x@mail.example",
		"smtps://ann:%sesame@mail.example",
		"smtps://ann:sesame%0d%0aQUIT@mail.example",
		"smtps://mail.example/path",
		"smtps://mail.example?ca_file=relative",
		"smtps://mail.example?verify=no",
		"smtps://mail.example?ca_file=/a&verify=no",
		"smtps://mail.example#x",
		"smtps://mail example",
		"smtps://mail.example:0",
		"smtps://mail.example:70000",
	};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		assert_int_equal(smtp_server_parse(wrong[i], &server, &reason), ERR_INVALID);
		assert_null(strstr(reason, "sesame"));
	}
}

/* --- headers --- */

static struct strbuf header;

static const char *encoded(const char *text)
{
	strbuf_clear(&header);
	strbuf_init(&header, 10000);
	smtp_encode_header(text, &header);
	return header.data;
}

TEST_CASE(leaves_a_plain_header_as_it_is_and_encodes_others)
{
	assert_string_equal(encoded("Mail works"), "Mail works");
	assert_string_equal(encoded("B\xc3\xbc"
	                            "cher & Co"),
	                    "=?UTF-8?Q?B=C3=BCcher_=26_Co?=");
	assert_string_equal(encoded("=?UTF-8?Q?x?="), "=?UTF-8?Q?=3D=3FUTF=2D8=3FQ=3Fx=3F=3D?=");
	assert_string_equal(encoded("a, <b>"), "=?UTF-8?Q?a=2C_=3Cb=3E?=");
	assert_string_equal(encoded("a\r\nBcc: x@y"), "=?UTF-8?Q?a=0D=0ABcc=3A_x=40y?=");
	strbuf_clear(&header);
}

TEST_CASE(cuts_a_long_header_between_characters_into_short_lines)
{
	struct strbuf text;
	size_t lines = 0, characters = 0;
	strbuf_init(&text, 400);
	for (size_t i = 0; i < 100; i++)
		strbuf_add_text(&text, "\xf0\x9f\x94\x97");
	for (const char *line = encoded(text.data); *line; line += strcspn(line, "\n") + 1) {
		assert_true(strcspn(line, "\r") <= 76);
		const char *bytes = strstr(line, "?Q?") + 3;
		size_t len = strcspn(bytes, "?");
		assert_int_equal(len % 12, 0);
		characters += len / 12;
		lines++;
		if (!strchr(line, '\n'))
			break;
	}
	strbuf_clear(&text);
	assert_int_equal(characters, 100);
	assert_true(lines >= 20);
	strbuf_clear(&header);
}

/* --- when a mail is tried again --- */

TEST_CASE(doubles_the_time_between_attempts_up_to_four_hours)
{
	assert_int_equal(mail_retry_s(1), 60);
	assert_int_equal(mail_retry_s(2), 120);
	assert_int_equal(mail_retry_s(8), 7680);
	assert_int_equal(mail_retry_s(9), 14400);
	assert_int_equal(mail_retry_s(1000000), 14400);
}

TEST_MAIN()
