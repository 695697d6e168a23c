/* Passwords that anybody tries first. Pure. */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_COMMON_PASSWORD_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_COMMON_PASSWORD_H

#include <stdbool.h>

/*
 * Whether the password, in any case and with or without digits and signs behind it, is among the most
 * common ones, the name of this product, or the address or its part before the @. password: at most
 * PASSWORD_BYTES_MAX bytes. email: "" = not known.
 */
bool common_password_is(const char *password, const char *email);

#endif
