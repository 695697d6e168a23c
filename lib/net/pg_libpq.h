/*
 * Pure. The one place that includes libpq's header. libpq calls its structs pg_conn and pg_result, as we do ours: here
 * its tags get other names, so that the compiler tells them apart. For .c files of this room only.
 */
#ifndef WAYMARK_LIB_NET_PG_LIBPQ_H
#define WAYMARK_LIB_NET_PG_LIBPQ_H

#define pg_conn libpq_conn
#define pg_result libpq_result
#include <libpq-fe.h>
#undef pg_conn
#undef pg_result

#endif
