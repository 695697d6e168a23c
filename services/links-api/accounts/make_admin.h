/*
 * One thread at a time. "links-api --make-admin EMAIL": how the first administrator comes to be.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_MAKE_ADMIN_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_MAKE_ADMIN_H

#include "services/links-api/config.h"

#define MAKE_ADMIN_OPTION "--make-admin"

/* The address that the arguments name, or NULL if they say something else. */
const char *make_admin_wanted(int argc, char **argv);

/* Says on stdout or stderr what came of it; gives the exit status. */
int make_admin_run(const struct config *config, const char *email);

#endif
