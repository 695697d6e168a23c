/*
 * Options with which links-api does one thing in the database and ends. They read PG_URL and no
 * other variable: who runs them has the database at hand, but not always the whole service. Not
 * thread-safe.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_COMMANDS_ONE_COMMAND_H
#define WAYMARK_SERVICES_LINKS_API_COMMANDS_ONE_COMMAND_H

#include "lib/postgres/pg_conn.h"

/*
 * Connects, calls work and returns the exit status. work has said on stdout or stderr what came of
 * it; that PostgreSQL cannot be reached is logged.
 */
int one_command_run(enum err (*work)(void *ctx, struct pg_conn *conn), void *ctx);

#endif
