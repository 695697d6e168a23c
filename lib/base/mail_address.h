/*
 * Mail addresses as this service accepts them: local@domain in ASCII, the local part a dot-atom of
 * at most 64 bytes (RFC 5321, without quotes), the domain of letters, digits, "-" and ".". Of an
 * international domain these are its A-labels (xn--). Pure.
 */
#ifndef WAYMARK_LIB_BASE_MAIL_ADDRESS_H
#define WAYMARK_LIB_BASE_MAIL_ADDRESS_H

#include <stdbool.h>

#include "lib/base/err.h"

#define MAIL_ADDRESS_MAX 254
#define MAIL_ADDRESS_SIZE (MAIL_ADDRESS_MAX + 1)
#define MAIL_ADDRESS_NAME_SIZE 256

bool mail_address_is_valid(const char *text);

/*
 * Takes a sender apart, "address" or "name <address>"; without a name, name is "". ERR_INVALID: it
 * is neither, or the name is no line of UTF-8.
 */
enum err mail_address_split(const char *sender, char name[static MAIL_ADDRESS_NAME_SIZE],
                            char address[static MAIL_ADDRESS_SIZE]) MUST_CHECK;

#endif
