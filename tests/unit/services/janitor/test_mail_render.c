#include "services/janitor/mail/mail_render.h"

#include <string.h>

#include "lib/base/array.h"
#include "services/janitor/mail/mail_texts.h"
#include "tests/support/test.h"

static struct mail_forms forms;

static int set_up(void **state)
{
	(void)state;
	mail_render_init(&forms);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	mail_render_clear(&forms);
	return 0;
}

static enum err render(const char *kind, const char *locale, const char *text)
{
	char reason[JSON_REASON_SIZE];
	struct json *data = NULL;
	assert_int_equal(json_parse(text, strlen(text), &data, reason), OK);
	const struct mail_source source = { .kind = kind,
		                            .locale = locale,
		                            .data = data,
		                            .sender = "Short <links>",
		                            .settings = "https://x.example/app/account" };
	mail_render_clear(&forms);
	mail_render_init(&forms);
	enum err err = mail_render(&source, &forms);
	json_free(data);
	return err;
}

static void assert_has(const struct strbuf *form, const char *text)
{
	if (!strstr(form->data, text))
		fail_msg("\"%s\" is not in:\n%s", text, form->data);
}

static void assert_lacks(const struct strbuf *form, const char *text)
{
	if (strstr(form->data, text))
		fail_msg("\"%s\" is in:\n%s", text, form->data);
}

#define INVITATION                                                                                 \
	"{\"workspace\":\"Team\",\"inviter\":\"Ann\",\"url\":\"https://x.example/app/i#t=1&a=2\"," \
	"\"expires_at\":\"2026-12-05T14:00:00.123Z\"}"

TEST_CASE(writes_both_forms_in_the_language_of_the_reader)
{
	assert_int_equal(render("invitation", "", INVITATION), OK);
	assert_string_equal(forms.subject.data, "Ann invites you to “Team”");
	assert_has(&forms.text, "until 5 December 2026, 14:00 UTC.");
	assert_has(&forms.text, "Accept the invitation:\nhttps://x.example/app/i#t=1&a=2\n");
	assert_has(&forms.html, "<html lang=\"en\">");
	assert_has(&forms.html,
	           "href=\"https://x.example/app/i#t=1&amp;a=2\">Accept the invitation</a>");
	assert_int_equal(render("invitation", "de-AT", INVITATION), OK);
	assert_string_equal(forms.subject.data, "Ann lädt dich in „Team“ ein");
	assert_has(&forms.text, "bis 5. Dezember 2026, 14:00 Uhr UTC.");
	assert_has(&forms.html, "<html lang=\"de\">");
	assert_int_equal(render("invitation", "fr-CH", INVITATION), OK);
	assert_has(&forms.text, "jusqu’au 5 décembre 2026 à 14:00 UTC.");
	assert_has(&forms.html, "<html lang=\"fr\">");
	assert_int_equal(render("invitation", "fry", INVITATION), OK);
	assert_string_equal(forms.subject.data, "Ann invites you to “Team”");
}

TEST_CASE(invites_into_the_instance_if_there_is_no_workspace)
{
	assert_int_equal(render("invitation", "", "{\"workspace\":\"\",\"inviter\":\"Ann\"}"), OK);
	assert_string_equal(forms.subject.data, "You are invited to Short <links>");
	assert_lacks(&forms.text, "{");
	assert_lacks(&forms.text, "until");
}

TEST_CASE(knows_every_kind_in_every_language)
{
	static const char *const kinds[] = { "invitation",
		                             "confirm-address",
		                             "address-changed",
		                             "password-reset",
		                             "destination-died",
		                             "monthly-report",
		                             "test" };
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		for (enum mail_language in = 0; in < MAIL_LANGUAGES; in++) {
			assert_int_equal(render(kinds[i], mail_texts_code(in), INVITATION), OK);
			assert_non_null(mail_texts_get(in, kinds[i], "text"));
		}
	}
	assert_int_equal(render("advertisement", "en", "{}"), ERR_INVALID);
	assert_int_equal(render("", "en", "{}"), ERR_INVALID);
	assert_int_equal(render("invitation.button", "en", "{}"), ERR_INVALID);
}

TEST_CASE(escapes_values_and_keeps_them_on_one_line)
{
	assert_int_equal(
		render("invitation", "",
	               "{\"workspace\":\"<img src=x onerror=\\\"a\\\">&amp;\",\"inviter\":\"Ann\\r\\nBcc: x@y\","
	               "\"url\":\"https://x.example/\\\"><script>\"}"),
		OK);
	assert_string_equal(forms.subject.data,
	                    "Ann  Bcc: x@y invites you to “<img src=x onerror=\"a\">&amp;”");
	assert_lacks(&forms.html, "<img");
	assert_lacks(&forms.html, "<script");
	assert_has(&forms.html, "&lt;img src=x onerror=&quot;a&quot;&gt;&amp;amp;");
	assert_has(&forms.html, "Short &lt;links&gt;");
	assert_lacks(&forms.text, "\r");
	assert_has(&forms.text, "Ann  Bcc: x@y invites you to work");
}

TEST_CASE(removes_characters_that_change_the_direction_of_text)
{
	assert_int_equal(render("address-changed", "",
	                        "{\"old\":\"a\\u202eb\",\"new\":\"c\\u2066d\\u200fe\\u061cf\"}"),
	                 OK);
	assert_has(&forms.text, "address c d e f. Before, it was a b.");
}

TEST_CASE(cuts_a_long_value_at_a_character)
{
	struct strbuf data;
	strbuf_init(&data, 2000);
	strbuf_add_text(&data, "{\"inviter\":\"Ann\",\"workspace\":\"");
	for (size_t i = 0; i < 300; i++)
		strbuf_add_text(&data, "ä");
	strbuf_add_text(&data, "\"}");
	assert_int_equal(render("invitation", "", data.data), OK);
	assert_int_equal(forms.subject.len, strlen("Ann invites you to “”") + 400 + strlen("…"));
	strbuf_clear(&data);
}

TEST_CASE(has_a_button_for_addresses_of_the_web_only)
{
	assert_int_equal(render("password-reset", "", "{\"url\":\"javascript:alert(1)\"}"), OK);
	assert_lacks(&forms.html, "javascript");
	assert_lacks(&forms.text, "javascript");
	assert_lacks(&forms.html, "class=\"button\"");
}

TEST_CASE(leaves_out_a_line_whose_value_is_missing)
{
	assert_int_equal(render("password-reset", "", "{\"url\":\"https://x.example/\"}"), OK);
	assert_lacks(&forms.text, "until");
	assert_has(&forms.text, "your password stays as it is");
}

TEST_CASE(lists_links_with_numbers_of_the_language)
{
	static const char data[] =
		"{\"workspace\":\"Team\",\"month\":\"2026-11-01\",\"visits\":1234567,\"before\":0,"
		"\"links\":[{\"name\":\"Spring <b>\",\"detail\":\"/spring\",\"value\":1200},"
		"{\"name\":\"/x\",\"detail\":\"\",\"value\":7}]}";
	assert_int_equal(render("monthly-report", "de", data), OK);
	assert_string_equal(forms.subject.data, "November 2026: die Besuche von „Team“");
	assert_has(&forms.text, "Besuche von Menschen: 1.234.567. Im Monat davor: 0.");
	assert_has(&forms.text, "Meistbesuchte Links:\n- Spring <b>: 1.200\n  /spring\n- /x: 7\n");
	assert_has(&forms.html, "<td>Spring &lt;b&gt;<br><span class=\"small\">/spring</span></td>"
	                        "<td class=\"value\">1.200</td>");
	assert_has(&forms.html, "<td>/x</td>");
	assert_has(&forms.html, "<a href=\"https://x.example/app/account\">");
	assert_int_equal(render("monthly-report", "en", data), OK);
	assert_has(&forms.text, "Visits of people: 1,234,567.");
}

TEST_CASE(says_that_a_destination_does_not_answer_and_how_many_links_are_left_out)
{
	assert_int_equal(
		render("destination-died", "",
	               "{\"count\":25,\"more\":23,\"links\":["
	               "{\"name\":\"/a\",\"detail\":\"https://a.example/\",\"value\":null},"
	               "{\"name\":\"/b\",\"detail\":\"https://b.example/\",\"value\":\"404\"}]}"),
		OK);
	assert_string_equal(forms.subject.data, "Links that lead nowhere: 25");
	assert_has(&forms.text, "- /a: no answer\n  https://a.example/\n- /b: 404\n");
	assert_has(&forms.text, "and 23 more\n");
	assert_has(&forms.html, "and 23 more");
}

TEST_MAIN(.set_up = set_up, .tear_down = tear_down)
