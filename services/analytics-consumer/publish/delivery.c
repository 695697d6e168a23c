#include "services/analytics-consumer/publish/delivery.h"

void delivery_done(void *ctx, void *opaque, enum err result)
{
	(void)ctx;
	struct delivery *delivery = opaque;
	atomic_fetch_add(result == OK ? &delivery->acked : &delivery->failed, 1);
	/* Last, so that a thread that sees nothing pending also sees the result. */
	atomic_fetch_sub(&delivery->pending, 1);
}

enum err delivery_send(struct delivery *delivery, struct kafka_producer *producer,
                       struct kafka_record *record)
{
	record->opaque = delivery;
	atomic_fetch_add(&delivery->pending, 1);
	enum err err = kafka_producer_send(producer, record);
	if (err != OK)
		atomic_fetch_sub(&delivery->pending, 1);
	return err;
}

bool delivery_is_pending(const struct delivery *delivery)
{
	return atomic_load(&delivery->pending) > 0;
}
