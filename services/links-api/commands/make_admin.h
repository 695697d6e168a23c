/* The option --make-admin EMAIL: makes an account the first administrator. Not thread-safe. */
#ifndef WAYMARK_SERVICES_LINKS_API_COMMANDS_MAKE_ADMIN_H
#define WAYMARK_SERVICES_LINKS_API_COMMANDS_MAKE_ADMIN_H

#define MAKE_ADMIN_OPTION "--make-admin"

/* Returns the e-mail address from the arguments, or NULL if they are not "--make-admin EMAIL". */
const char *make_admin_wanted(int argc, char **argv);

/* Prints the result on stdout or stderr. Returns the exit status. */
int make_admin_run(const char *email);

#endif
