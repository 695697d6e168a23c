-- Visits on Kafka carry the owner and the tags of their link.
GRANT SELECT (id, owner_id, tags) ON links TO waymark_consumer;
