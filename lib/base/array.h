/* The number of elements of an array. Do not use it for pointers. */
#ifndef WAYMARK_LIB_BASE_ARRAY_H
#define WAYMARK_LIB_BASE_ARRAY_H

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#endif
