/*
 * Functions that this code base does not use. The build includes this file before every source
 * (cmake/WaymarkFlags.cmake). A call to one of them expands to an undeclared name that says what to
 * use instead, so it does not compile. The headers that declare the functions come first, so that
 * the macros do not break them.
 */
#ifndef WAYMARK_LIB_BASE_BANNED_H
#define WAYMARK_LIB_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef sprintf
#undef vsprintf
#undef strtok
#undef atoi
#undef atol
#undef gmtime
#undef localtime
#undef ctime
#undef asctime
#undef rand
#undef strerror
#undef alloca

#define strcpy(d, s) banned_use_strbuf_or_snprintf
#define strcat(d, s) banned_use_strbuf_or_snprintf
#define strncpy(d, s, n) banned_use_strbuf_or_snprintf
#define strncat(d, s, n) banned_use_strbuf_or_snprintf
#define sprintf(...) banned_use_snprintf
#define vsprintf(...) banned_use_vsnprintf
#define strtok(s, d) banned_use_strchr
#define atoi(s) banned_use_number_parse
#define atol(s) banned_use_number_parse
#define gmtime(t) banned_use_timestamp
#define localtime(t) banned_use_timestamp
#define ctime(t) banned_use_timestamp
#define asctime(t) banned_use_timestamp
#define rand() banned_use_entropy
#define strerror(e) banned_use_strerrordesc_np
#define alloca(n) banned_use_mem_alloc

#endif
