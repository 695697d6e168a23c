#include "services/links-api/workspaces/member_change.h"
#include "tests/support/test.h"

#define ROLES (WORKSPACE_OWNER + 1)

static bool is_allowed(enum workspace_role caller, enum workspace_role held,
                       enum workspace_role wanted)
{
	return member_change_is_allowed(
		&(struct member_change){ .caller = caller, .held = held, .wanted = wanted });
}

/* Every combination, against the rule as a sentence says it. */
TEST_CASE(admins_change_all_but_owners_and_owners_change_everybody)
{
	(void)state;
	for (unsigned caller = 0; caller < ROLES; caller++)
		for (unsigned held = 0; held < ROLES; held++)
			for (unsigned wanted = 0; wanted < ROLES; wanted++) {
				bool touches_owner =
					held == WORKSPACE_OWNER || wanted == WORKSPACE_OWNER;
				bool expected = caller == WORKSPACE_OWNER ||
				                (caller == WORKSPACE_ADMIN && !touches_owner);
				assert_int_equal(is_allowed(caller, held, wanted), expected);
			}
}

TEST_CASE(everybody_may_step_down_or_leave_and_nobody_rises_by_themselves)
{
	(void)state;
	for (unsigned held = WORKSPACE_VIEWER; held < ROLES; held++)
		for (unsigned wanted = 0; wanted < ROLES; wanted++) {
			struct member_change change = {
				.is_self = true, .caller = held, .held = held, .wanted = wanted
			};
			bool is_owner_or_admin_below_owner =
				held == WORKSPACE_OWNER ||
				(held == WORKSPACE_ADMIN && wanted <= WORKSPACE_ADMIN);
			assert_int_equal(member_change_is_allowed(&change),
			                 wanted <= held || is_owner_or_admin_below_owner);
		}
}

TEST_MAIN()
