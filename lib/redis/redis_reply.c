#include "lib/redis/redis_reply.h"

#include <hiredis/hiredis.h>

/* A redis_reply is a redisReply under another name, so the header does not include hiredis. */
static const redisReply *hiredis_reply(const struct redis_reply *reply)
{
	return (const redisReply *)reply;
}

static bool has_type(const struct redis_reply *reply, int type)
{
	return reply && hiredis_reply(reply)->type == type;
}

const char *redis_reply_bytes(const struct redis_reply *reply, size_t *len)
{
	if (!has_type(reply, REDIS_REPLY_STRING) && !has_type(reply, REDIS_REPLY_STATUS))
		return NULL;
	if (len)
		*len = hiredis_reply(reply)->len;
	return hiredis_reply(reply)->str;
}

int64_t redis_reply_int(const struct redis_reply *reply)
{
	return has_type(reply, REDIS_REPLY_INTEGER) ? hiredis_reply(reply)->integer : 0;
}

size_t redis_reply_count(const struct redis_reply *reply)
{
	return has_type(reply, REDIS_REPLY_ARRAY) ? hiredis_reply(reply)->elements : 0;
}

const struct redis_reply *redis_reply_at(const struct redis_reply *reply, size_t index)
{
	return index < redis_reply_count(reply)
	               ? (const struct redis_reply *)hiredis_reply(reply)->element[index]
	               : NULL;
}

const char *redis_reply_error(const struct redis_reply *reply)
{
	return has_type(reply, REDIS_REPLY_ERROR) ? hiredis_reply(reply)->str : NULL;
}

void redis_reply_free(struct redis_reply *reply)
{
	if (reply)
		freeReplyObject(reply);
}
