/*
 * One thread at a time per connection. What was counted for an account that is being deleted: the
 * tables rollup_account_hour and rollup_account_day. The janitor adds nothing more to it.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_ACCOUNT_FIGURES_STORE_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_ACCOUNT_FIGURES_STORE_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"

/* Deletes a bounded number of rows. *deleted: how many; 0 = there are none. */
enum err account_figures_store_delete_some(struct pg_conn *conn, int64_t account_id,
                                           int64_t *deleted) MUST_CHECK;

#endif
