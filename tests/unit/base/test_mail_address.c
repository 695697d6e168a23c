#include "lib/base/mail_address.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "tests/support/test.h"

TEST_CASE(accepts_a_dot_atom_and_a_domain)
{
	static const char *const valid[] = { "a@b", "ann.b+tag@mail.example", "o'brien@x-y.example",
		                             "!#$%&'*+-/=?^_`{|}~@b", "a@xn--bcher-kva.example" };
	for (size_t i = 0; i < ARRAY_SIZE(valid); i++)
		assert_true(mail_address_is_valid(valid[i]));
}

TEST_CASE(refuses_what_a_command_or_a_header_could_misread)
{
	static const char *const invalid[] = {
		"",           "a",          "@b",    "a@",      "a@b@c",   "a b@c", "a,b@c",
		"a>b@c",      "<a@b>",      "a@b>",  "\"a\"@b", "a@b\r\n", "a\n@b", "a@[::1]",
		"a@b_c",      ".a@b",       "a.@b",  "a..b@c",  "a@.b",    "a@b.",  "a@b..c",
		"\xc3\xa4@b", "a@\xc3\xa4", "a;b@c", "a:b@c"
	};
	for (size_t i = 0; i < ARRAY_SIZE(invalid); i++)
		assert_false(mail_address_is_valid(invalid[i]));
}

TEST_CASE(bounds_the_address_and_its_local_part)
{
	char address[300];
	snprintf(address, sizeof(address), "%064d@%0189d", 0, 0);
	assert_true(mail_address_is_valid(address));
	snprintf(address, sizeof(address), "%065d@b", 0);
	assert_false(mail_address_is_valid(address));
	snprintf(address, sizeof(address), "%064d@%0190d", 0, 0);
	assert_false(mail_address_is_valid(address));
}

static const char *split(const char *sender)
{
	static char text[MAIL_ADDRESS_NAME_SIZE + MAIL_ADDRESS_SIZE + 2];
	char name[MAIL_ADDRESS_NAME_SIZE], address[MAIL_ADDRESS_SIZE];
	if (mail_address_split(sender, name, address) != OK)
		return "invalid";
	snprintf(text, sizeof(text), "%s|%s", name, address);
	return text;
}

TEST_CASE(takes_a_sender_apart)
{
	assert_string_equal(split("a@b"), "|a@b");
	assert_string_equal(split("<a@b>"), "|a@b");
	assert_string_equal(split("Short links <a@b>"), "Short links|a@b");
	assert_string_equal(split("B\xc3\xbc"
	                          "cher, <kurz>  <a@b>"),
	                    "B\xc3\xbc"
	                    "cher, <kurz>|a@b");
}

TEST_CASE(refuses_a_sender_that_is_no_line_with_an_address)
{
	static const char *const invalid[] = {
		"",       "Short links",   "Links <a@b",      "<>",         "<", "Links <a>",
		"a@b <>", "Li\nnks <a@b>", "Li\xffnks <a@b>", "a@b <c@d> e"
	};
	for (size_t i = 0; i < ARRAY_SIZE(invalid); i++)
		assert_string_equal(split(invalid[i]), "invalid");
	char sender[400];
	snprintf(sender, sizeof(sender), "%0256d <a@b>", 0);
	assert_string_equal(split(sender), "invalid");
}

TEST_MAIN()
