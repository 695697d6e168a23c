/*
 * Pure. Includes libpq's header. libpq's structs have the names of ours, pg_conn and pg_result, so
 * its tags are renamed here. Only .c files of this room may include it.
 */
#ifndef WAYMARK_LIB_POSTGRES_PG_LIBPQ_H
#define WAYMARK_LIB_POSTGRES_PG_LIBPQ_H

#define pg_conn libpq_conn
#define pg_result libpq_result
#include <libpq-fe.h>
#undef pg_conn
#undef pg_result

#endif
