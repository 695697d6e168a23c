#include "services/links-api/accounts/registration.h"
#include "tests/support/test.h"

TEST_CASE(a_domain_is_compared_as_a_whole_and_in_any_case)
{
	static const char domains[] = "example.com, .corp.example\n.eu";
	assert_true(registration_is_domain_of(domains, "a@example.com"));
	assert_true(registration_is_domain_of(domains, "a@EXAMPLE.Com"));
	assert_true(registration_is_domain_of(domains, "a@corp.example"));
	assert_true(registration_is_domain_of(domains, "a@x.y.corp.example"));
	assert_true(registration_is_domain_of(domains, "a@b.eu"));
	assert_false(registration_is_domain_of(domains, "a@www.example.com"));
	assert_false(registration_is_domain_of(domains, "a@xcorp.example"));
	assert_false(registration_is_domain_of(domains, "a@example.com.evil.example"));
	assert_false(registration_is_domain_of(domains, "a@com"));
	assert_false(registration_is_domain_of(domains, "a@xeu"));
	assert_false(registration_is_domain_of("", "a@example.com"));
}

TEST_MAIN()
