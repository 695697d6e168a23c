#include "lib/net/redis_reply.h"

#include <hiredis/hiredis.h>

/* A redis_reply is hiredis' reply under another name, so that the header needs none of hiredis. */
static const redisReply *foreign(const struct redis_reply *reply)
{
	return (const redisReply *)reply;
}

static bool has_type(const struct redis_reply *reply, int type)
{
	return reply && foreign(reply)->type == type;
}

bool redis_reply_is_nil(const struct redis_reply *reply)
{
	return !reply || has_type(reply, REDIS_REPLY_NIL);
}

const char *redis_reply_bytes(const struct redis_reply *reply, size_t *len)
{
	if (!has_type(reply, REDIS_REPLY_STRING) && !has_type(reply, REDIS_REPLY_STATUS))
		return NULL;
	if (len)
		*len = foreign(reply)->len;
	return foreign(reply)->str;
}

int64_t redis_reply_int(const struct redis_reply *reply)
{
	return has_type(reply, REDIS_REPLY_INTEGER) ? foreign(reply)->integer : 0;
}

size_t redis_reply_count(const struct redis_reply *reply)
{
	return has_type(reply, REDIS_REPLY_ARRAY) ? foreign(reply)->elements : 0;
}

const struct redis_reply *redis_reply_at(const struct redis_reply *reply, size_t index)
{
	return index < redis_reply_count(reply) ? (const struct redis_reply *)foreign(reply)->element[index] : NULL;
}

const char *redis_reply_error(const struct redis_reply *reply)
{
	return has_type(reply, REDIS_REPLY_ERROR) ? foreign(reply)->str : NULL;
}

void redis_reply_free(struct redis_reply *reply)
{
	if (reply)
		freeReplyObject(reply);
}
